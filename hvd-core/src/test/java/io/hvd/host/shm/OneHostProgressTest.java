package io.hvd.host.shm;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.host.local.LocalProvider;
import io.hvd.kernel.ReduceKernel;
import io.hvd.spi.Backend;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Progress;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.testing.Recomposed;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What shared memory tells the back end beneath about messages that may still be under way there. */
@Timeout(60)
class OneHostProgressTest {
    private static final Reduction SUM = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);

    @TempDir
    private Path folder;

    /** Something is under way until all ranks are known to have it. */
    private static final class Pending implements Progress {
        private boolean pending = true;

        @Override
        public long make() {
            return Long.MAX_VALUE;
        }

        @Override
        public void delivered() {
            pending = false;
        }

        @Override
        public boolean isPending() {
            return pending;
        }
    }

    /** Data planes of threads, which say of their messages what {@link Pending} does. */
    private static final class Threads extends Recomposed.Planes {
        private final Pending pending;

        Threads(Backend local, Pending pending) {
            super(local);
            this.pending = pending;
        }

        @Override
        public Progress progress() {
            return pending;
        }
    }

    private interface Body {
        void run(Backend shared, Pending pending);
    }

    private void onThreeRanks(Body body) throws Exception {
        List<CompletableFuture<Void>> ranks = new ArrayList<>();
        for (LocalProvider local : LocalProvider.ofThreads(3, 4096)) {
            ranks.add(CompletableFuture.runAsync(
                    () -> {
                        Pending pending = new Pending();
                        Backend threads = local.open(HvdConfig.from(Map.of()), List.of());
                        SharedPlanes planes = new SharedPlanes(
                                new Threads(threads, pending),
                                threads.topology(),
                                threads::exchange,
                                ReduceKernel.NONE,
                                folder);
                        try (Backend shared = threads.with("shared memory", planes)) {
                            body.run(shared, pending);
                        }
                    },
                    task -> new Thread(task, "shm-rank").start()));
        }
        for (CompletableFuture<Void> rank : ranks) {
            rank.get(50, TimeUnit.SECONDS);
        }
    }

    private static void sum(DataPlane data) {
        Tensor tensor = Tensor.of(1f);
        assertThat(data.allreduceUnlessVetoed(List.of(tensor), List.of(tensor), SUM))
                .isTrue();
    }

    @Test
    void anAllreduceOfAllRanksShowsThatEverythingBeforeItHasArrived() throws Exception {
        onThreeRanks((shared, pending) -> {
            DataPlane all = shared.collectives();
            assertThat(all.takesAnyThread(Device.CPU)).as("before").isFalse();
            sum(all);
            assertThat(pending.isPending()).isFalse();
            assertThat(all.takesAnyThread(Device.CPU)).as("afterwards").isTrue();
        });
    }

    @Test
    void oneOfSomeRanksShowsNothingOfTheOthers() throws Exception {
        onThreeRanks((shared, pending) -> {
            if (shared.topology().rank() != 1) {
                sum(shared.collectives(List.of(0, 2)));
            }
            assertThat(pending.isPending()).isTrue();
        });
    }
}
