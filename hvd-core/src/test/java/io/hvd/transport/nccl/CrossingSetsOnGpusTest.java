package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.DataPlane;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.transport.nccl.SimulatedRanks.Layout;
import io.hvd.transport.nccl.SimulatedRanks.Rank;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/**
 * Two processes with two ranks each, ranks 0 and 1 in one and ranks 2 and 3 in the other. In either process an allocation waits for
 * the kernels of both ranks. One rank of each process has gone ahead, and the other one allocates before it follows:
 * what went ahead must not stand on a GPU yet, since it would wait for a rank of the other process.
 */
@Timeout(value = 100, threadMode = ThreadMode.SEPARATE_THREAD)
class CrossingSetsOnGpusTest {
    private static final Reduction SUM = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);
    private static final List<String> PROCESSES = List.of("p", "p", "q", "q");
    private static final Layout ONE_NODE = Layout.oneNode(4);
    private static final Layout TWO_NODES = new Layout(List.of("a", "a", "b", "b"), 1);
    /** How much time to launch the ranks that allocate give to the ranks that have gone ahead. */
    private static final int AHEAD_MILLIS = 200;

    /** Ranks 0 and 3 go ahead. */
    private final CountDownLatch ahead = new CountDownLatch(2);

    private static boolean goesAhead(Rank rank) {
        return rank.rank() == 0 || rank.rank() == 3;
    }

    /** An output that is allocated after the two other ranks have launched, if nothing keeps them from it. */
    private Tensor lateOutput(Rank rank, DataPlane data) throws InterruptedException {
        if (!goesAhead(rank)) {
            ahead.await(AHEAD_MILLIS, TimeUnit.MILLISECONDS);
        }
        return data.output(SimulatedRanks.GPU, DType.FLOAT32, Shape.of(2));
    }

    private void launched(Rank rank) {
        if (goesAhead(rank)) {
            ahead.countDown();
        }
    }

    private void sum(Rank rank, DataPlane data, List<Integer> members) throws Exception {
        Tensor output = lateOutput(rank, data);
        Tensor input = rank.up(Tensor.of(rank.rank() + 1f, 2f));
        data.allreduce(List.of(input), List.of(output), SUM);
        launched(rank);
        rank.settle(data);
        float expected = members.stream().mapToInt(member -> member + 1).sum();
        assertThat(rank.down(output).toFloatArray()).containsExactly(expected, 2f * members.size());
    }

    private static List<Integer> columnOf(Rank rank) {
        return rank.rank() % 2 == 0 ? List.of(0, 2) : List.of(1, 3);
    }

    private static List<Integer> rowOf(Rank rank) {
        return rank.rank() < 2 ? List.of(0, 1) : List.of(2, 3);
    }

    @Test
    void columnsOfAGridGoOnWhileOtherRanksOfTheirProcessesAllocate() throws Exception {
        SimulatedRanks.runThreads(ONE_NODE, PROCESSES, Map.of(), rank -> {
            DataPlane column = rank.backend().collectives(columnOf(rank));
            sum(rank, column, columnOf(rank));
            column.close();
        });
    }

    @Test
    void rowsAndColumnsMayBeMixedWithOperationsOfAllRanks() throws Exception {
        SimulatedRanks.runThreads(ONE_NODE, PROCESSES, Map.of(), rank -> {
            DataPlane row = rank.backend().collectives(rowOf(rank));
            DataPlane column = rank.backend().collectives(columnOf(rank));
            for (int round = 0; round < 20; round++) {
                sum(rank, row, rowOf(rank));
                sum(rank, column, columnOf(rank));
                sum(rank, rank.data(), List.of(0, 1, 2, 3));
            }
            column.close();
            row.close();
        });
    }

    @Test
    void transfersBetweenTheProcessesCrossEachOther() throws Exception {
        SimulatedRanks.runThreads(ONE_NODE, PROCESSES, Map.of(), rank -> {
            DataPlane data = rank.data();
            if (goesAhead(rank)) {
                // NCCL's send does not end before the other rank receives, so receives show what sends do on a GPU.
                Tensor output = lateOutput(rank, data);
                data.receive(output, rank.rank() == 0 ? 2 : 1);
                launched(rank);
                rank.settle(data);
                assertThat(rank.down(output).toFloatArray()).containsExactly(rank.rank() == 0 ? 2 : 1, 5);
            } else {
                lateOutput(rank, data);
                data.send(rank.up(Tensor.of(rank.rank(), 5f)), rank.rank() == 2 ? 0 : 3);
                rank.settle(data);
            }
        });
    }

    /** Allreduces in two levels, by communicators of a row and of a column, in one operation of all ranks. */
    @Test
    void anAllreduceInTwoLevelsCrossesTheProcessesToo() throws Exception {
        Map<String, String> torus = Map.of("HOROVOD_TORUS_ALLREDUCE", "1");
        SimulatedRanks.runThreads(TWO_NODES, PROCESSES, torus, rank -> sum(rank, rank.data(), List.of(0, 1, 2, 3)));
    }
}
