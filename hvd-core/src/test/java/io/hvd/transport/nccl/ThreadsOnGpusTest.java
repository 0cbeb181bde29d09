package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.DataPlane;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/**
 * Ranks as threads of one process, in which an allocation on one GPU waits for the work on all of them: a kernel of
 * NCCL's that waits for the rank which allocates would never end.
 */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class ThreadsOnGpusTest {
    private static final Reduction SUM = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);
    private static final Reduction HALF = new Reduction(ReduceOp.SUM, DType.FLOAT16, 1, 0.5);
    private static final Reduction SHORTS = new Reduction(ReduceOp.SUM, DType.INT16, 1, 1);
    /** More segments than the first table of a launch has rows for. */
    private static final int MANY = 300;

    @Test
    void aRankThatAllocatesHoldsUpNoKernelThatWaitsForIt() throws Exception {
        requireNoKernelHeldUp(3);
    }

    @Test
    @Tag("long")
    void norDoesOneOfTwo() throws Exception {
        requireNoKernelHeldUp(2);
    }

    private static void requireNoKernelHeldUp(int size) throws Exception {
        SimulatedRanks.runThreads(size, Map.of(), rank -> {
            DataPlane data = rank.data();
            DataPlane pair = rank.rank() < 2 ? rank.backend().collectives(List.of(0, 1)) : null;
            for (int round = 0; round < 3; round++) {
                sum(rank, data, 1, SUM);
                sum(rank, data, 2, HALF);
                sum(rank, data, MANY << round, HALF);
                sum(rank, data, 1, SHORTS);
                gather(rank, data);
                transfer(rank, data);
                scatter(rank, data);
                if (pair != null) {
                    sumOfPair(rank, pair);
                }
                // Frees what earlier rounds have made.
                System.gc();
            }
            rank.settle(data);
            if (pair != null) {
                pair.close();
            }
        });
    }

    private static void sum(SimulatedRanks.Rank rank, DataPlane data, int tensors, Reduction how) throws Exception {
        List<Tensor> inputs = new ArrayList<>();
        List<Tensor> outputs = new ArrayList<>();
        DType type = how.wire() == DType.INT16 ? DType.INT16 : DType.FLOAT32;
        for (int i = 0; i < tensors; i++) {
            Tensor host = type == DType.INT16
                    ? Tensor.ofShorts(new short[] {(short) rank.rank(), 2})
                    : Tensor.of((float) rank.rank(), 2f);
            inputs.add(rank.up(host));
            outputs.add(data.output(Device.cuda(0), type, Shape.of(2)));
        }
        data.allreduce(inputs, outputs, how);
        // The other ranks may be about to allocate while this one goes on.
        data.allreduce(outputs, outputs, new Reduction(ReduceOp.MAX, type, 1, 1));
        rank.settle(data);
        double factor = how.postscale();
        float ranks = rank.size() * (rank.size() - 1) / 2f;
        for (Tensor output : outputs) {
            assertThat(rank.down(output).toFloatArray())
                    .containsExactly((float) (factor * ranks), (float) (factor * 2 * rank.size()));
        }
    }

    private static void sumOfPair(SimulatedRanks.Rank rank, DataPlane pair) throws Exception {
        Tensor sum = pair.output(Device.cuda(0), DType.FLOAT32, Shape.of(1));
        pair.allreduce(List.of(rank.up(Tensor.of(rank.rank() + 1f))), List.of(sum), SUM);
        rank.settle(pair);
        assertThat(rank.down(sum).item()).isEqualTo(3);
    }

    private static void gather(SimulatedRanks.Rank rank, DataPlane data) throws Exception {
        long[] counts = new long[rank.size()];
        Arrays.fill(counts, 1);
        Tensor all = data.output(Device.cuda(0), DType.FLOAT32, Shape.of(rank.size()));
        data.allgather(rank.up(Tensor.of((float) rank.rank())), all, counts);
        rank.settle(data);
        assertThat(rank.down(all).toFloatArray()[rank.size() - 1]).isEqualTo(rank.size() - 1);
    }

    /** From rank 0 to rank 1, while others go on. */
    private static void transfer(SimulatedRanks.Rank rank, DataPlane data) throws Exception {
        if (rank.rank() == 0) {
            data.send(rank.up(Tensor.of(7f)), 1);
            data.output(Device.cuda(0), DType.FLOAT32, Shape.of(5));
        } else if (rank.rank() == 1) {
            Tensor received = data.output(Device.cuda(0), DType.FLOAT32, Shape.of(1));
            data.receive(received, 0);
            rank.settle(data);
            assertThat(rank.down(received).item()).isEqualTo(7);
        }
        rank.settle(data);
    }

    private static void scatter(SimulatedRanks.Rank rank, DataPlane data) throws Exception {
        long[] counts = new long[rank.size()];
        Arrays.fill(counts, 2);
        float[] numbers = new float[2 * rank.size()];
        Arrays.fill(numbers, 3);
        Tensor mine = data.output(Device.cuda(0), DType.FLOAT32, Shape.of(2));
        data.reduceScatter(rank.up(Tensor.of(numbers)), mine, counts, SUM);
        rank.settle(data);
        assertThat(rank.down(mine).toFloatArray()).containsOnly(3f * rank.size());
    }
}
