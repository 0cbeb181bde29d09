package io.hvd.error;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FailureRecordTest {

    private static final Instant NOON = Instant.parse("2026-01-02T12:00:00.123456789Z");

    @TempDir
    private Path directory;

    @Test
    void everyFieldSurvivesTheRoundTrip() throws IOException {
        var record = new FailureRecord(
                NOON,
                3,
                "nodeB",
                4711,
                "hvd-engine-3",
                "gewünscht: [4], gefunden: [5] = 日本 \\ # !",
                "java.lang.IllegalStateException: a\n\tat io.hvd.A.b(A.java:1)\n\nCaused by: c\r\n",
                true,
                137);

        Path file = record.write(directory);

        assertThat(FailureRecord.readAll(directory)).containsExactly(record);
        assertThat(file.getFileName().toString()).contains("rank-3-").contains("pid-4711-");
    }

    @Test
    void causesComeBeforeConsequencesAndEachIsSortedByTime() throws IOException {
        var early = record(0, 1, true);
        var cause = record(1, 2, false);
        var later = record(2, 3, true);
        var second = record(3, 4, false);
        for (FailureRecord record : new FailureRecord[] {later, second, early, cause}) {
            record.write(directory);
        }

        assertThat(FailureRecord.readAll(directory)).containsExactly(cause, second, early, later);
    }

    @Test
    void aRankThatWritesTwiceKeepsBoth() throws IOException {
        var first = record(5, 1, false);
        var second = record(5, 2, false);
        second.write(directory);
        first.write(directory);

        assertThat(FailureRecord.readAll(directory)).containsExactly(first, second);
    }

    @Test
    void aFileCutOffAnywhereIsPassedOverAndTheOthersAreRead() throws IOException {
        byte[] whole = Files.readAllBytes(record(1, 1, false).write(directory));
        var intact = record(2, 2, false);
        intact.write(directory);
        Path cut = directory.resolve("rank-9-pid-9-x.failure");
        try (Stream<Path> files = Files.list(directory)) {
            Files.delete(files.filter(file -> file.toString().contains("rank-1-"))
                    .findFirst()
                    .orElseThrow());
        }
        for (int length = 0; length < whole.length - 1; length++) {
            Files.write(cut, Arrays.copyOf(whole, length));

            assertThat(FailureRecord.readAll(directory))
                    .as("cut after %d of %d bytes", length, whole.length)
                    .containsExactly(intact);
        }
    }

    @Test
    void foreignFilesArePassedOver() throws IOException {
        Files.write(directory.resolve("a.failure"), new byte[] {(byte) 0xff, (byte) 0xfe, 0});
        Files.writeString(directory.resolve("b.failure"), "rank=\\u12\n", StandardCharsets.UTF_8);
        Files.writeString(directory.resolve("c.failure"), "rank=x\nend=true\n", StandardCharsets.UTF_8);
        Files.writeString(directory.resolve("unfinished.tmp"), "rank=1", StandardCharsets.UTF_8);

        assertThat(FailureRecord.readAll(directory)).isEmpty();
    }

    @Test
    void aDirectoryThatIsNotThereHoldsNoRecordsAndTakesNone() throws IOException {
        Path missing = directory.resolve("missing");

        assertThat(FailureRecord.readAll(missing)).isEmpty();
        assertThatThrownBy(() -> record(0, 0, false).write(missing)).isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void writingLeavesNothingButTheRecord() throws IOException {
        Path file = record(0, 0, false).write(directory);

        try (Stream<Path> files = Files.list(directory)) {
            assertThat(files).containsExactly(file);
        }
    }

    private static FailureRecord record(int rank, int second, boolean consequence) {
        return new FailureRecord(
                NOON.plusSeconds(second), rank, "node", 100 + rank, "main", "reason", "", consequence, 1);
    }
}
