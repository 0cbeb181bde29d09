package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.cuda.SimulatedGpu;
import io.hvd.tensor.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The order of the trial's calls, with a simulated NCCL: it proves nothing about ncclCommShrink. */
@Timeout(60)
class ShrinkTrialTest {
    private static final int ELEMENTS = 1000;
    private static final int WITH_SHRINK = 22703;

    private final SimulatedNccl.Fabric fabric = new SimulatedNccl.Fabric();

    private static ShrinkTrial trial(SimulatedGpu gpu, NcclCalls nccl) {
        return trial(gpu, nccl, 20);
    }

    private static ShrinkTrial trial(SimulatedGpu gpu, NcclCalls nccl, int limitSeconds) {
        return new ShrinkTrial(nccl, gpu.device(), 0, ELEMENTS, TimeUnit.SECONDS.toNanos(limitSeconds));
    }

    private List<ShrinkTrial.Result> run(int size) throws Exception {
        return run(size, gpu -> trial(gpu, new SimulatedNccl(gpu, fabric).ofVersion(WITH_SHRINK)));
    }

    private List<ShrinkTrial.Result> run(int size, Function<SimulatedGpu, ShrinkTrial> trials) throws Exception {
        byte[] id = new SimulatedNccl(new SimulatedGpu(), fabric).uniqueId();
        CyclicBarrier end = new CyclicBarrier(size);
        List<CompletableFuture<ShrinkTrial.Result>> ranks = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            int rank = i;
            ranks.add(CompletableFuture.supplyAsync(
                    () -> live(rank, size, id, end, trials), task -> new Thread(task, "shrink-rank").start()));
        }
        List<ShrinkTrial.Result> seen = new ArrayList<>();
        for (CompletableFuture<ShrinkTrial.Result> rank : ranks) {
            seen.add(rank.get(50, TimeUnit.SECONDS));
        }
        return seen;
    }

    private ShrinkTrial.Result live(
            int rank, int size, byte[] id, CyclicBarrier end, Function<SimulatedGpu, ShrinkTrial> trials) {
        SimulatedGpu gpu = new SimulatedGpu();
        int before = gpu.blocks();
        try (ShrinkTrial trial = trials.apply(gpu)) {
            return trial.run(id, rank, size, () -> {
                try {
                    end.await(40, TimeUnit.SECONDS);
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
        } finally {
            if (gpu.failure() != null) {
                assertThat(gpu.failure()).hasMessage("the simulated communicator was aborted");
            }
            assertThat(gpu.blocks()).isEqualTo(before);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void theRanksThatAreLeftGoOnWithRightResultsAfterTheyHaveAborted(int size) throws Exception {
        List<ShrinkTrial.Result> seen = run(size);

        assertThat(seen).extracting(ShrinkTrial.Result::wrong).containsOnly("");
        assertThat(seen.subList(0, size - 1))
                .extracting(ShrinkTrial.Result::millis)
                .allMatch(millis -> millis > 0);
        assertThat(seen.get(size - 1).millis()).isZero();
    }

    @Test
    void anOlderNcclIsNamedSoThatTheFunctionIsNotCalled() {
        NcclCalls nccl = new SimulatedNccl(new SimulatedGpu(), fabric).ofVersion(22602);
        assertThat(nccl.withoutShrink())
                .hasValue("NCCL 2.26.2 has no ncclCommShrink, 2.27.0 and newer versions have it");
        assertThat(new SimulatedNccl(new SimulatedGpu(), fabric)
                        .ofVersion(22700)
                        .withoutShrink())
                .isEmpty();
    }

    /** A communicator of one rank has nobody to wait for, so its allreduce ends. */
    @Test
    void anAllreduceThatDoesNotWaitForTheLostRankIsNamed() {
        SimulatedGpu gpu = new SimulatedGpu();
        NcclCalls deaf = new SimulatedNccl(gpu, fabric) {
            @Override
            public long join(byte[] uniqueId, int size, int rank) {
                return super.join(uniqueId, 1, 0);
            }
        };
        try (ShrinkTrial trial = trial(gpu, deaf)) {
            ShrinkTrial.Result seen = trial.run(deaf.uniqueId(), 0, 3, () -> {});
            assertThat(seen.wrong())
                    .contains("element 0 of an allreduce of 3 ranks is 1.0, expected 6.0")
                    .contains("an allreduce ended to which rank 2 did not come");
        }
    }

    /** NCCL's ncclCommDestroy waits for the communicator's own kernels. */
    @Test
    void anAllreduceOfTheRanksThatAreLeftThatDoesNotEndIsSaidAndNotWaitedFor() throws Exception {
        List<ShrinkTrial.Result> seen = run(4, gpu -> trial(gpu, new LateAfterShrink(gpu), 2));

        assertThat(seen.get(0).wrong()).isEqualTo("an allreduce of 3 ranks did not end; ");
        assertThat(seen.get(2).wrong()).isEqualTo("an allreduce of 3 ranks did not end; ");
        assertThat(seen.get(3).wrong()).isEmpty();
    }

    /** NCCL whose rank 1 loses its launch after a shrink. */
    private final class LateAfterShrink extends SimulatedNccl {
        private final SimulatedGpu gpu;
        private int ownRank;
        private long smaller = -1;

        LateAfterShrink(SimulatedGpu gpu) {
            super(gpu, fabric);
            this.gpu = gpu;
            ofVersion(WITH_SHRINK);
        }

        @Override
        public long join(byte[] uniqueId, int size, int rank) {
            ownRank = rank;
            return super.join(uniqueId, size, rank);
        }

        @Override
        public long shrinkAfterAbort(long communicator, int[] lost) {
            smaller = super.shrinkAfterAbort(communicator, lost);
            return smaller;
        }

        @Override
        public void allReduce(
                long from, long to, long count, DType type, int operator, long communicator, long stream) {
            if (communicator != smaller || ownRank != 1) {
                super.allReduce(from, to, count, type, operator, communicator, stream);
            }
        }

        @Override
        public void leave(long communicator) {
            gpu.awaitAll();
            super.leave(communicator);
        }
    }
}
