package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ShutdownException;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a failure does that is left to the program. */
@Timeout(60)
class FailurePolicyTest {
    /** Under a launcher, where the other policy sets a handler. */
    @Test
    void noHandlerIsInstalled() {
        Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
        InitOptions options = InitOptions.standard()
                .withSettings(Map.of("HVD_BACKEND", "local", "PMI_RANK", "0", "PMI_SIZE", "1"))
                .withFailurePolicy(FailurePolicy.THROW);
        try (HvdContext hvd = Hvd.init(options)) {
            assertThat(hvd.size()).isEqualTo(1);
            assertThat(Thread.getDefaultUncaughtExceptionHandler()).isSameAs(before);
        }
    }

    /** A launcher has one job per process, and its ranks that are threads end with their process. */
    @Test
    void aSpawnInALaunchedJobRefusesIt() {
        InitOptions options = InitOptions.standard()
                .withSettings(Map.of("PMI_RANK", "0", "PMI_SIZE", "2"))
                .withFailurePolicy(FailurePolicy.THROW);

        assertThatThrownBy(() -> Hvd.spawn(2, options, hvd -> null)).hasMessageContainingAll("THROW", "END_PROCESS");
    }

    /** The ranks are connected as processes are. */
    @Test
    void theCallsThatWaitThrowTheCauseAndTheProgramGoesOn() {
        List<String> seen = new CopyOnWriteArrayList<>();
        InitOptions options = InitOptions.standard();

        assertThatThrownBy(() -> LocalRanks.spawnOverEcho(3, options, hvd -> {
                    if (hvd.rank() == 2) {
                        throw new IllegalStateException("out of data");
                    }
                    try {
                        return hvd.allreduce("loss", Tensor.of(1f));
                    } catch (ShutdownException cause) {
                        seen.add(cause.getMessage());
                        assertThatThrownBy(hvd::barrier).isInstanceOf(ShutdownException.class);
                        return null;
                    }
                }))
                .hasMessageContaining("out of data");
        assertThat(seen).hasSize(2).allMatch(message -> message.contains("out of data"));
    }

    /** Each of the failed jobs had two connections from every rank to rank 0, and their ends. */
    @Test
    void failedJobsGiveTheirConnectionsBack() throws Exception {
        fail("first");
        long before = sockets();
        for (int i = 0; i < 5; i++) {
            fail("again");
        }

        // the engines' threads end in their own time
        while (sockets() > before) {
            Thread.sleep(1);
        }
    }

    private static void fail(String why) {
        assertThatThrownBy(() -> LocalRanks.spawnOverEcho(2, InitOptions.standard(), hvd -> {
                    if (hvd.rank() == 1) {
                        throw new IllegalStateException(why);
                    }
                    return hvd.allreduce("loss", Tensor.of(1f));
                }))
                .hasMessageContaining(why);
    }

    private static long sockets() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.filter(FailurePolicyTest::isSocket).count();
        }
    }

    private static boolean isSocket(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().startsWith("socket:");
        } catch (IOException e) {
            return false; // closed meanwhile
        }
    }

    @Test
    void shutdownAndInitMakeTheNextGeneration() {
        InitOptions options = InitOptions.standard().withSettings(Map.of("HVD_BACKEND", "local"));
        int first = Hvd.init(options).generation();
        Hvd.shutdown();
        try (HvdContext next = Hvd.init(options)) {
            assertThat(next.generation()).isEqualTo(first + 1);
        }
    }
}
