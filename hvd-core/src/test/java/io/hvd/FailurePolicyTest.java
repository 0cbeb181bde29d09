package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ShutdownException;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
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
