package io.hvd.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.hvd.InitOptions;
import io.hvd.LocalRanks;
import io.hvd.tensor.Tensor;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What a test that hangs leaves must not lie among the sources. The build looks for it at its end. */
class ReportFolderTest {
    private static final String PREFIX = "hvd-hang-";

    @Test
    void ranksAsThreadsThatHangLeaveTheirReportInTheBuildsFolder() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        Throwable hung = catchThrowable(() -> LocalRanks.spawn(
                2,
                InitOptions.standard(),
                Map.of("HOROVOD_STALL_CHECK_TIME_SECONDS", "1", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "1"),
                hvd -> {
                    if (hvd.rank() == 1) {
                        never.await();
                    }
                    return hvd.allreduce("awaited", Tensor.of(1f)).item();
                }));

        assertThat(hung).hasMessageContaining("awaited").hasMessageContaining(PREFIX);
        Path report = Path.of(hung.getMessage().replaceFirst("(?s).*all stacks: ", ""));
        assertThat(report).exists().hasParent(reports());
        Files.delete(report);
    }

    /** And so do jobs of processes, to which the environment is handed on. */
    @Test
    void theFolderIsNotTheOneInWhichTestsRun() throws Exception {
        assertThat(reports()).endsWith(Path.of("target", "hang-reports"));
        try (Stream<Path> here = Files.list(Path.of("").toAbsolutePath())) {
            assertThat(here).noneMatch(file -> file.getFileName().toString().startsWith(PREFIX));
        }
    }

    private static Path reports() {
        return new File(System.getenv("HVD_REPORT_DIR")).toPath();
    }
}
