package io.hvd.data.mapped;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.SplitMix64;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ReadOnlyBufferException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files of records, and ranks as threads that share one. */
@Timeout(60)
class MappedDatasetTest {
    private static final int RECORDS = 500;
    private static final int RANKS = 3;

    @TempDir
    private Path folder;

    private Path file;
    private final AtomicInteger builds = new AtomicInteger();

    @BeforeEach
    void name() {
        file = folder.resolve("records.hvd");
    }

    /** With the small segment nearly every record reaches from one mapping into the next. */
    @ParameterizedTest
    @ValueSource(longs = {64, 4096, MappedDataset.SEGMENT_BYTES})
    void recordsOfDifferentLengthsComeBackInAnyOrderThroughSeveralMappings(long segmentBytes) throws IOException {
        Hvd.spawn(1, hvd -> MappedDataset.shared(hvd, file, "v1", uneven()));
        MappedDataset mapped = MappedDataset.map(file, segmentBytes);
        assertThat(mapped.size()).isEqualTo(RECORDS);
        for (int index = RECORDS - 1; index >= 0; index--) {
            assertThat(bytes(mapped.get(index))).as("record %d", index).isEqualTo(record(index));
        }
        assertThat(mapped.bytes())
                .isEqualTo(Stream.iterate(0, i -> i + 1)
                        .limit(RECORDS)
                        .mapToLong(i -> record(i).length)
                        .sum());
    }

    @ParameterizedTest
    @ValueSource(longs = {16, MappedDataset.SEGMENT_BYTES})
    void recordsOfOneLengthAreReadWithoutATableOfTheirEnds(long segmentBytes) throws IOException {
        Hvd.spawn(
                1,
                hvd -> MappedDataset.shared(hvd, file, "v1", records -> {
                    ByteBuffer again = ByteBuffer.allocateDirect(12).order(ByteOrder.nativeOrder());
                    for (int i = 0; i < 40; i++) {
                        records.add(again.clear()
                                .putInt(i)
                                .putFloat(i / 2f)
                                .putInt(-i)
                                .flip());
                    }
                }));
        assertThat(Files.size(file)).isEqualTo(4096 + 40 * 12);
        MappedDataset mapped = MappedDataset.map(file, segmentBytes);
        for (int i = 0; i < 40; i++) {
            ByteBuffer record = mapped.get(i);
            assertThat(record.remaining()).isEqualTo(12);
            assertThat(record.getInt()).isEqualTo(i);
            assertThat(record.getFloat()).isEqualTo(i / 2f);
            assertThat(record.getInt()).isEqualTo(-i);
        }
    }

    @Test
    void aRecordIsAViewThatNobodyCanWriteThrough() {
        MappedDataset mapped = Hvd.spawn(1, hvd -> MappedDataset.shared(hvd, file, "v1", uneven()))
                .get(0);
        assertThat(mapped.get(3).isDirect()).isTrue();
        assertThatThrownBy(() -> mapped.get(3).put(0, (byte) 1)).isInstanceOf(ReadOnlyBufferException.class);
        assertThatThrownBy(() -> mapped.get(RECORDS)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> mapped.get(-1)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aDataSetMayBeEmptyOrHaveARecordWithoutBytes(int records) {
        List<MappedDataset> all = Hvd.spawn(
                2,
                hvd -> MappedDataset.shared(hvd, file, "", writer -> {
                    for (int i = 0; i < records; i++) {
                        writer.add(new byte[0]);
                    }
                }));
        assertThat(all).allMatch(mapped -> mapped.size() == records && mapped.bytes() == 0);
        if (records > 0) {
            assertThat(all.get(1).get(0).remaining()).isZero();
        }
    }

    @Test
    void oneRankOfTheHostBuildsAndALaterJobFindsTheFile() {
        for (int job = 0; job < 2; job++) {
            List<MappedDataset> all = Hvd.spawn(RANKS, hvd -> MappedDataset.shared(hvd, file, "v1", uneven()));
            assertThat(all).hasSize(RANKS).allMatch(mapped -> mapped.size() == RECORDS);
            assertThat(bytes(all.get(2).get(77))).isEqualTo(record(77));
            assertThat(builds).hasValue(1);
        }
    }

    @Test
    void anotherVersionIsBuiltAnewWhileThoseWhoHaveMappedTheOldOneGoOnWithIt() {
        MappedDataset old = Hvd.spawn(1, hvd -> MappedDataset.shared(hvd, file, "v1", uneven()))
                .get(0);
        List<MappedDataset> all = Hvd.spawn(
                RANKS,
                hvd -> MappedDataset.shared(hvd, file, "v2", records -> {
                    records.add(new byte[] {9});
                }));
        assertThat(all)
                .allMatch(mapped -> mapped.size() == 1 && mapped.version().equals("v2"));
        assertThat(bytes(old.get(499))).isEqualTo(record(499));
        assertThat(MappedDataset.open(file).version()).isEqualTo("v2");
    }

    /** In the header, the records, and the table of ends; cut off, and with something behind it. */
    @ParameterizedTest
    @ValueSource(strings = {"0:x", "50:x", "5000:x", "-3:x", "cut", "more"})
    void aDamagedFileIsNoticedAndBuiltAnew(String damage) throws IOException {
        Hvd.spawn(1, hvd -> MappedDataset.shared(hvd, file, "v1", uneven()));
        damage(damage);
        MappedDataset mapped = Hvd.spawn(2, hvd -> MappedDataset.shared(hvd, file, "v1", uneven()))
                .get(1);
        assertThat(builds).hasValue(2);
        for (int index = 0; index < RECORDS; index++) {
            assertThat(bytes(mapped.get(index))).isEqualTo(record(index));
        }
    }

    private void damage(String how) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.READ)) {
            switch (how) {
                case "cut" -> channel.truncate(channel.size() - 1);
                case "more" -> channel.write(ByteBuffer.allocate(1), channel.size());
                default -> {
                    int at = Integer.parseInt(how.substring(0, how.indexOf(':')));
                    long place = at < 0 ? channel.size() + at : at;
                    ByteBuffer one = ByteBuffer.allocate(1);
                    channel.read(one, place);
                    channel.write(ByteBuffer.wrap(new byte[] {(byte) (one.get(0) + 1)}), place);
                }
            }
        }
    }

    @Test
    void ifBuildingFailsAllRanksLearnWhyAndTheFileOfBeforeStays() throws IOException {
        Hvd.spawn(1, hvd -> MappedDataset.shared(hvd, file, "v1", uneven()));
        byte[] before = Files.readAllBytes(file);
        RecordSource failing = records -> {
            records.add(new byte[100_000]);
            throw new InterruptedException("the corpus is gone");
        };
        for (String message : messages(hvd -> MappedDataset.shared(hvd, file, "v2", failing))) {
            assertThat(message)
                    .contains(ErrorId.BAD_DATA_SET.code())
                    .contains("records.hvd", "on rank 0 (", "the corpus is gone", "as it was before");
        }
        assertThat(Files.readAllBytes(file)).isEqualTo(before);
        assertThat(folder.toFile().list()).containsExactly("records.hvd");

        Path nowhere = folder.resolve("no/such/folder.hvd");
        for (String message : messages(hvd -> MappedDataset.shared(hvd, nowhere, "v1", uneven()))) {
            assertThat(message).contains("on rank 0 (", "no/such");
        }
    }

    @Test
    void ranksWithDifferentVersionsAreNamed() {
        for (String message :
                messages(hvd -> MappedDataset.shared(hvd, file, hvd.rank() == 1 ? "v2" : "v1", uneven()))) {
            assertThat(message).contains(ErrorId.DIFFERENT_SETTINGS.code(), "v1", "v2", "1");
        }
        assertThat(builds).hasValue(0);
    }

    @Test
    void aTemporaryFileCanBeDeletedWhileItIsMappedAndIsGoneIfItsSourceFails() throws Exception {
        MappedDataset mapped = MappedDataset.temporary(file, "v1", uneven());
        Files.delete(file);

        assertThat(mapped.size()).isEqualTo(RECORDS);
        assertThat(bytes(mapped.get(7))).isEqualTo(record(7));
        assertThatThrownBy(() -> MappedDataset.temporary(file, "v1", records -> {
                    records.add(new byte[5000]);
                    throw new IllegalStateException("a bad row");
                }))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("a bad row");
        assertThat(file).doesNotExist();
        assertThatThrownBy(() -> MappedDataset.temporary(folder.resolve("no/such"), "v1", uneven()))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("no/such cannot be written: NoSuchFileException");
    }

    @Test
    void aFileThatIsMissingOrNoFileOfRecordsIsNamed() throws IOException {
        assertThatThrownBy(() -> MappedDataset.open(file))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll(ErrorId.BAD_DATA_SET.code(), "records.hvd", "NoSuchFile");
        Files.write(file, new byte[100]);
        assertThatThrownBy(() -> MappedDataset.open(file)).hasMessageContainingAll("records.hvd", "header");
        assertThatThrownBy(() -> Hvd.spawn(1, hvd -> MappedDataset.shared(hvd, file, "v".repeat(5000), uneven())))
                .hasStackTraceContaining("5000 bytes, expected at most 4000");
    }

    private interface Attempt {
        Object on(HvdContext hvd);
    }

    private static List<String> messages(Attempt attempt) {
        List<String> messages = Hvd.spawn(RANKS, hvd -> {
            try {
                return "no failure: " + attempt.on(hvd);
            } catch (HvdException e) {
                return e.getMessage();
            }
        });
        assertThat(messages).hasSize(RANKS);
        return messages;
    }

    private RecordSource uneven() {
        return records -> {
            builds.incrementAndGet();
            for (int i = 0; i < RECORDS; i++) {
                records.add(record(i));
            }
        };
    }

    /** Its length and content depend on its number; some have no bytes. */
    private static byte[] record(int index) {
        var random = new SplitMix64(index);
        byte[] bytes = new byte[random.nextInt(90)];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) random.nextLong();
        }
        return bytes;
    }

    private static byte[] bytes(ByteBuffer record) {
        byte[] bytes = new byte[record.remaining()];
        record.get(bytes);
        return bytes;
    }
}
