package io.hvd.monitor.hang;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.monitor.diagnosis.CollectiveWait;
import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.Views;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class HangFileTest {
    private static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss", Locale.ROOT);

    @TempDir
    Path folder;

    private final CallView call = Views.call("a", 5);
    private final HangSituation situation = new HangSituation(
            2,
            List.of(new CollectiveWait(call.key(), new TreeMap<>(Map.of(0, call)), new TreeSet<>(Set.of(1)), 5)),
            List.of(Views.waits(0, call), Views.waits(1)));

    @Test
    void onlyItsOwnerMayReadTheReport() throws IOException {
        Path file = Path.of(HangFile.write(folder, situation));

        assertThat(file).content().startsWith("Hang of a job of 2 ranks, reported by rank 2");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
    }

    @Test
    void linksAndFilesThatAreThereAlreadyAreLeftAlone() throws IOException {
        Path victim = Files.writeString(folder.resolve("victim"), "untouched");
        Path reports = Files.createDirectory(folder.resolve("reports"));
        for (int seconds = 0; seconds < 30; seconds++) {
            String stamp =
                    STAMP.format(LocalDateTime.now(ZoneId.systemDefault()).plusSeconds(seconds));
            Files.createSymbolicLink(reports.resolve("hvd-hang-" + stamp + "-2.txt"), victim);
        }

        String file = HangFile.write(reports, situation);

        assertThat(file).endsWith("-2-2.txt");
        assertThat(Path.of(file)).isRegularFile().content().startsWith("Hang of a job");
        assertThat(victim).hasContent("untouched");
    }

    @Test
    void whereNothingCanBeWrittenTheReasonStandsInItsPlace() throws IOException {
        Path blocked = Files.writeString(folder.resolve("blocked"), "a file");

        assertThat(HangFile.write(blocked, situation)).startsWith("not written into " + blocked + ", because ");
        Path below = blocked.resolve("below");
        assertThat(HangFile.write(below, situation)).startsWith("not written into " + below + ", because ");
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactly(blocked);
        }
    }

    @Test
    void aFolderThatIsNotThereYetIsMade() throws IOException {
        Path reports = folder.resolve("runs/7/reports");

        assertThat(Path.of(HangFile.write(reports, situation)))
                .hasParent(reports)
                .isRegularFile();
    }
}
