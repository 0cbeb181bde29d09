package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.NotInitialisedException;
import io.hvd.tensor.Tensor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A process that nobody started with mpirun is a job of one rank. */
@Timeout(60)
class HvdTest {
    @BeforeEach
    void requireAPlainProcess() {
        HvdConfig config = HvdConfig.fromEnvironment();
        Assumptions.assumeFalse(config.started().byLauncher(), "started by mpirun");
        assertThat(Hvd.isInitialized()).isFalse();
    }

    private static Map<String, ThrowingCallable> queries() {
        return new TreeMap<>(Map.of(
                "Hvd.rank()", Hvd::rank,
                "Hvd.size()", Hvd::size,
                "Hvd.localRank()", Hvd::localRank,
                "Hvd.localSize()", Hvd::localSize,
                "Hvd.crossRank()", Hvd::crossRank,
                "Hvd.crossSize()", Hvd::crossSize,
                "Hvd.device()", Hvd::device,
                "Hvd.context()", Hvd::context));
    }

    private static void requireNotInitialised() {
        queries()
                .forEach((call, query) -> assertThatThrownBy(query)
                        .as(call)
                        .isInstanceOf(NotInitialisedException.class)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContainingAll("HVD-101", call, "Hvd.init()"));
    }

    @Test
    void useBeforeInitNamesTheCallAndTheMissingOne() {
        requireNotInitialised();
        assertThat(Hvd.isInitialized()).isFalse();
        Hvd.shutdown();
    }

    @Test
    void withoutALauncherThisIsItsFirstProcess() {
        assertThat(Hvd.rankFromLauncher()).isZero();
    }

    @Test
    void theCapabilitiesAreKnownBeforeInitAndOfAJobWithoutMpi() {
        requireCapabilitiesWithoutMpi();
        try (HvdContext hvd = Hvd.init()) {
            requireCapabilitiesWithoutMpi();
        }
    }

    private static void requireCapabilitiesWithoutMpi() {
        Capabilities here = Hvd.capabilities();
        assertThat(List.of(
                        here.mpiEnabled(),
                        here.mpiThreadsSupported(),
                        here.glooEnabled(),
                        here.cclBuilt(),
                        here.ddlBuilt(),
                        here.rocmBuilt()))
                .as("%s", here)
                .containsOnly(false);
        assertThat(here.glooBuilt()).isTrue();
        boolean driver = Files.exists(Path.of("/proc/driver/nvidia"));
        assertThat(here.cudaBuilt()).as("a GPU needs its driver").isIn(false, driver);
        assertThat(here.ncclBuilt() > 0).as("NCCL needs a GPU").isIn(false, here.cudaBuilt());
    }

    @Test
    void initGivesOneRankAndTheSameContextUntilItIsClosed() {
        try (HvdContext hvd = Hvd.init()) {
            assertThat(Hvd.init()).isSameAs(hvd);
            assertThat(Hvd.context()).isSameAs(hvd);
            assertThat(Hvd.isInitialized()).isTrue();
            assertThat(List.of(
                            Hvd.rank(), Hvd.size(), Hvd.localRank(), Hvd.localSize(), Hvd.crossRank(), Hvd.crossSize()))
                    .containsExactly(0, 1, 0, 1, 0, 1);
            assertThat(hvd.hosts()).hasSize(1);
            assertThat(hvd.backend()).contains("local");
            assertThat(hvd.allreduce("x", Tensor.of(3f)).item()).isEqualTo(3);
        }
        requireNotInitialised();
    }

    @Test
    void workerThreadsUseTheProcesssContext() throws Exception {
        try (HvdContext hvd = Hvd.init()) {
            HvdContext[] seen = new HvdContext[1];
            Thread worker = new Thread(() -> seen[0] = Hvd.context());
            worker.start();
            worker.join(20_000);
            assertThat(seen[0]).isSameAs(hvd);
        }
    }

    @Test
    void initAfterShutdownGivesANewContext() {
        HvdContext first = Hvd.init();
        Hvd.shutdown();
        requireNotInitialised();
        try (HvdContext second = Hvd.init()) {
            assertThat(second).isNotSameAs(first);
            assertThat(second.allreduce("again", Tensor.of(1f)).item()).isEqualTo(1);
        }
        first.close();
        first.shutdown();
    }

    @Test
    void aClosedContextRefusesCollectivesByName() {
        HvdContext hvd = Hvd.init();
        hvd.close();
        hvd.close();
        assertThat(hvd.isOpen()).isFalse();
        Map<String, ThrowingCallable> calls = Map.of(
                "allreduce", () -> hvd.allreduce("a", Tensor.of(1f)),
                "allgather", () -> hvd.allgather("a", Tensor.of(1f)),
                "broadcast", () -> hvd.broadcast("a", Tensor.of(1f), 0),
                "barrier", hvd::barrier);
        calls.forEach((name, call) -> assertThatThrownBy(call)
                .as(name)
                .isInstanceOf(NotInitialisedException.class)
                .hasMessageContainingAll(name, "Hvd.init()"));
    }

    @Test
    void aRankThatDoesNotExistIsRefusedWithoutALauncherToo() {
        assertThatThrownBy(() -> Hvd.init(List.of(0, 3)))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-202", "[0, 3]", "rank 3 is not in [0, 0]");
        try (HvdContext hvd = Hvd.init(List.of(0))) {
            assertThat(hvd.size()).isEqualTo(1);
        }
    }

    @Test
    void aRankThatIsNamedTwiceIsRefused() {
        assertThatThrownBy(() -> Hvd.init(List.of(2, 0, 2)))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_ARGUMENT))
                .hasMessageContainingAll("[2, 0, 2]", "twice");
        assertThat(Hvd.isInitialized()).isFalse();
    }
}
