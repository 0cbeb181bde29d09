package io.hvd.launch.direct;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The ranks are shells. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class OutputPipesTest {

    private static final PlannedRank RANK = new PlannedRank(0, 1, "here", true, 0, 1, 0, 1);

    @TempDir
    private Path folder;

    @Test
    void aRankStartsBeforeAnybodyReadsAndEndsWhatIsRead() throws Exception {
        OutputPipes pipes = OutputPipes.make(folder, List.of(RANK), Map.of("PATH", System.getenv("PATH")))
                .orElseThrow();

        OutputPipes.Ends ends = pipes.open(RANK);
        Process rank = new ProcessBuilder("sh", "-c", "echo said; echo failed >&2")
                .redirectOutput(pipes.out(RANK).toFile())
                .redirectError(pipes.err(RANK).toFile())
                .start();
        assertThat(rank.waitFor()).isZero();
        ends.rankHasStarted();

        assertThat(ends.out()).hasContent("said\n");
        assertThat(ends.err()).hasContent("failed\n");
    }
}
