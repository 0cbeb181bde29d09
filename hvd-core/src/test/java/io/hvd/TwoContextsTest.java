package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Jobs that live in one JVM at the same time use the same names, and none of them notices the other. */
@Timeout(60)
class TwoContextsTest {
    private static final int STEPS = 30;
    private static final long LIMIT_SECONDS = 30;

    private final ExecutorService starters = Executors.newFixedThreadPool(2);

    @BeforeEach
    void requireAPlainProcess() {
        Assumptions.assumeFalse(HvdConfig.fromEnvironment().started().byLauncher(), "started by mpirun");
    }

    @AfterEach
    void stop() {
        starters.shutdownNow();
    }

    @Test
    void twoSpawnsAtOnceShareNamesAndNumbersOfProcessSetsAndNothingElse() throws Exception {
        CyclicBarrier allFive = new CyclicBarrier(5);
        Future<List<Float>> pair = starters.submit(() -> Hvd.spawn(2, dynamic(), hvd -> work(hvd, 1, allFive)));
        Future<List<Float>> three = starters.submit(() -> Hvd.spawn(3, dynamic(), hvd -> work(hvd, 100, allFive)));

        assertThat(pair.get(LIMIT_SECONDS, TimeUnit.SECONDS)).containsExactly(STEPS * 1f, STEPS * 1f);
        assertThat(three.get(LIMIT_SECONDS, TimeUnit.SECONDS))
                .isEqualTo(Collections.nCopies(3, STEPS * 100f * (0 + 1 + 2)));
    }

    private static InitOptions dynamic() {
        return InitOptions.standard().withDynamicProcessSets();
    }

    /** The sums of the ranks' numbers times the factor, while all ranks of both jobs are between the same two steps. */
    private static float work(HvdContext hvd, float factor, CyclicBarrier all) throws Exception {
        float total = 0;
        for (int step = 0; step < STEPS; step++) {
            all.await(LIMIT_SECONDS, TimeUnit.SECONDS);
            Tensor mine = Tensor.of(factor * hvd.rank());
            total += hvd.allreduce("same name", mine, AllreduceOptions.sum()).item();
        }
        ProcessSet set = hvd.addProcessSet(List.of(1));
        assertThat(set.id()).isEqualTo(1);
        assertThat(hvd.processSets()).containsOnlyKeys(0, 1);
        all.await(LIMIT_SECONDS, TimeUnit.SECONDS);
        assertThat(hvd.processSet(1)).isSameAs(set);
        assertThat(Hvd.context()).isSameAs(hvd);
        return total;
    }

    @Test
    void aJobThatFailsTakesNoOtherWithIt() throws Exception {
        CyclicBarrier allFour = new CyclicBarrier(4);
        Future<List<Float>> fails = starters.submit(() -> Hvd.spawn(2, hvd -> {
            allFour.await(LIMIT_SECONDS, TimeUnit.SECONDS);
            if (hvd.rank() == 1) {
                throw new IllegalStateException("the disk is full");
            }
            return hvd.allreduce("x", Tensor.of(1f)).item();
        }));
        Future<List<Float>> goesOn = starters.submit(() -> Hvd.spawn(2, hvd -> {
            allFour.await(LIMIT_SECONDS, TimeUnit.SECONDS);
            assertThatThrownBy(() -> fails.get(LIMIT_SECONDS, TimeUnit.SECONDS))
                    .hasRootCauseMessage("the disk is full");
            return hvd.allreduce("x", Tensor.of(1f + hvd.rank())).item();
        }));

        assertThat(goesOn.get(LIMIT_SECONDS, TimeUnit.SECONDS)).containsExactly(1.5f, 1.5f);
    }

    @Test
    void theContextOfTheProcessAndThatOfARankAreTwo() {
        try (HvdContext process = Hvd.init()) {
            Hvd.spawn(2, hvd -> {
                assertThat(Hvd.init()).isSameAs(hvd).isNotSameAs(process);
                assertThat(List.of(Hvd.size(), Hvd.rank())).containsExactly(2, hvd.rank());
                assertThat(process.size()).isEqualTo(1);
                assertThat(hvd.allreduce("x", Tensor.of(2f * hvd.rank())).item())
                        .isEqualTo(1);
                assertThat(process.allreduce("x" + hvd.rank(), Tensor.of(7f)).item())
                        .isEqualTo(7);
                assertThatThrownBy(() -> process.processSet(hvd.rank() + 1)).isInstanceOf(HvdException.class);
                Hvd.shutdown();
                assertThat(hvd.isOpen()).isFalse();
                return null;
            });
            assertThat(process.isOpen()).isTrue();
            assertThat(Hvd.context()).isSameAs(process);
            assertThat(process.allreduce("x", Tensor.of(3f)).item()).isEqualTo(3);
        }
    }
}
