package io.hvd.monitor.status;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.PhaseView;
import io.hvd.monitor.view.RankProcess;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** hvd-top's own tests read such pages. */
class StatusPageTest {
    private static final long SECOND = 1_000_000_000L;

    @TempDir
    private Path folder;

    @Test
    void aPageHasNoNameAndOnlyThisUserMayReadIt() throws IOException {
        try (StatusPage page = StatusPage.in(folder).findFirst().orElseThrow()) {
            page.write("{\"rank\":1,\"more\":\"words\"}");
            page.write("{\"rank\":2}");

            try (Stream<Path> names = Files.list(folder)) {
                assertThat(names).isEmpty();
            }
            Path open = openFile();
            assertThat(Files.readString(open)).startsWith("hvd-status 1 ").contains(" 10\n{\"rank\":2}");
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(open)))
                    .isEqualTo("rw-------");
        }
    }

    private Path openFile() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
            return files.filter(file -> target(file).startsWith(folder + "/hvd-status-"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private static String target(Path file) {
        try {
            return Files.readSymbolicLink(file).toString();
        } catch (IOException closedMeanwhile) {
            return "";
        }
    }

    @Test
    void aFolderThatTakesNoPageIsNoError() {
        assertThat(StatusPage.in(folder.resolve("missing"))).isEmpty();
    }

    @Test
    void theStatusHasWhatIsPendingAndRatesOverTheLastSeconds() {
        FlightRecorder recorder = new FlightRecorder(4);
        RankStatus status = new RankStatus(recorder, "h:7", List.of(RankProcess.ofThisProcess(0, "h")), 0);
        status.json(Activity.of(recorder, PhaseView.NONE), SECOND);
        for (int step = 0; step < 6; step++) {
            recorder.ended(recorder.submitted(operation("w")), "");
            recorder.step();
        }
        recorder.submitted(operation("late"));

        assertThat(status.json(Activity.of(recorder, PhaseView.NONE), 3 * SECOND))
                .contains("\"steps\":6", "\"calls\":6", "\"stepsPerSecond\":3.000", "\"pendingCalls\":1")
                .contains("\"pending\":[{\"kind\":\"allreduce\",\"name\":\"late\"")
                .containsPattern("\"last\":\\{\"kind\":\"allreduce\",\"name\":\"w\"");
    }

    /** Long texts are cut, and 200 ranks with commas are one. */
    @Test
    void thePageSaysWhichRanksTheHostHas() {
        List<RankProcess> members = IntStream.range(0, 200)
                .mapToObj(rank -> RankProcess.ofThisProcess(rank, rank == 3 ? "other" : "h"))
                .toList();

        String page = new RankStatus(new FlightRecorder(4), "h:7", members, 0)
                .json(Activity.of(new FlightRecorder(4), PhaseView.NONE), SECOND);

        assertThat(page).contains("\"local\":\"0-2,4-199\"");
        assertThat(RankRuns.text(List.of(5))).isEqualTo("5");
        assertThat(RankRuns.text(List.of(1, 3, 4))).isEqualTo("1,3-4");
    }

    private static Call.Operation operation(String name) {
        return new Call.Operation("allreduce", name, "float32 [1]", 0, List.of(0));
    }

    @Test
    void theProgramIsNamedWithoutItsArguments() {
        assertThat(RankStatus.program("/opt/app/train.jar --token abc")).isEqualTo("train.jar");
        assertThat(RankStatus.program("")).isEmpty();
    }
}
