package io.hvd.host.hybrid;

import io.hvd.spi.Activities;
import io.hvd.spi.PointToPoint;
import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * Tensors from rank to rank: a thread of this process copies them, and to other processes they take the transport.
 *
 * @param grid which rank is a thread of which process
 * @param ranks global ranks, in the order of their numbers here
 * @param threads the way between threads of this process, by their numbers
 * @param processes the way to ranks of other processes, by the numbers here
 */
record HybridPairs(Grid grid, List<Integer> ranks, PointToPoint threads, PointToPoint processes)
        implements PointToPoint {
    @Override
    public void send(Tensor tensor, int to) {
        int rank = ranks.get(to);
        if (grid.isHere(rank)) {
            threads.send(tensor, grid.threadOf(rank));
        } else {
            processes.send(tensor, to);
        }
    }

    @Override
    public void receive(Tensor tensor, int from) {
        int rank = ranks.get(from);
        if (grid.isHere(rank)) {
            threads.receive(tensor, grid.threadOf(rank));
        } else {
            processes.receive(tensor, from);
        }
    }

    @Override
    public void report(Activities to) {
        // The parts of a transfer are not told apart.
    }

    @Override
    public void abandon() {
        processes.abandon();
    }

    @Override
    public void close() {
        processes.close();
    }
}
