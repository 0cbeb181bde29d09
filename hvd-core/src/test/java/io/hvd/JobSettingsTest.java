package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Settings that a program gives one job, in the place of the environment's. */
@Timeout(60)
class JobSettingsTest {
    private static final String THRESHOLD = "HOROVOD_FUSION_THRESHOLD";

    private static InitOptions with(String variable, String value) {
        return InitOptions.standard().withSettings(Map.of("HVD_BACKEND", "local", variable, value));
    }

    /** Both jobs run at the same time. */
    @Test
    void twoJobsOfOneProcessHaveTheirOwn() throws Exception {
        CyclicBarrier together = new CyclicBarrier(2);
        List<CompletableFuture<List<String>>> jobs = List.of("1048576", "2097152").stream()
                .map(bytes -> CompletableFuture.supplyAsync(
                        () -> Hvd.spawn(2, with(THRESHOLD, bytes), hvd -> {
                            if (hvd.rank() == 0) {
                                together.await(20, TimeUnit.SECONDS);
                            }
                            hvd.barrier();
                            return hvd.tunedSettings().get(THRESHOLD);
                        }),
                        task -> new Thread(task, "a-job").start()))
                .toList();

        assertThat(jobs.get(0).get()).containsOnly("1048576");
        assertThat(jobs.get(1).get()).containsOnly("2097152");
    }

    @Test
    void theOthersAreTheEnvironments() {
        List<String> cycles =
                Hvd.spawn(1, with(THRESHOLD, "4096"), hvd -> hvd.tunedSettings().get("HOROVOD_CYCLE_TIME"));

        assertThat(cycles).containsExactly(System.getenv().getOrDefault("HOROVOD_CYCLE_TIME", "1.0"));
    }

    @Test
    void aBadOneIsRefusedAsInTheEnvironment() {
        assertThatThrownBy(() -> Hvd.spawn(1, with("HVD_FUSION", "1"), hvd -> null))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("HVD_FUSION");
        assertThatThrownBy(() -> Hvd.spawn(1, with(THRESHOLD, "much"), hvd -> null))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll(THRESHOLD, "much");
    }

    /** A transport that the service loader finds is chosen by its name. */
    @Test
    void aTransportOfTheProgramsIsChosenByItsName() {
        try (HvdContext hvd = Hvd.init(InitOptions.standard()
                .withSettings(Map.of("HVD_BACKEND", "transport:echo", "HVD_SHARED_MEMORY", "0")))) {
            assertThat(hvd.backend()).isEqualTo("echo");
            assertThat(hvd.allreduce("one", Tensor.of(3f)).item()).isEqualTo(3f);
        }
        assertThatThrownBy(() -> Hvd.init(InitOptions.standard().withSettings(Map.of("HVD_BACKEND", "transport:ecco"))))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD_BACKEND", "transport:ecco", "[echo]");
    }

    @Test
    void ranksThatAreThreadsRefuseATransport() {
        assertThatThrownBy(() -> Hvd.spawn(
                        2, InitOptions.standard().withSettings(Map.of("HVD_BACKEND", "transport:echo")), hvd -> null))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("transport:echo", "Hvd.init()");
    }
}
