package io.hvd.host.hybrid;

import io.hvd.host.hybrid.BackendThread.TransferHalf;
import io.hvd.spi.Transfers;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Transfers between this rank and other ranks that are threads of several processes, by way of the transport between the
 * processes; it also brings bytes from one thread of a process to another. They are started together when the first of
 * them is asked whether it is done, which waits for all of them.
 *
 * <p>A rank does one thing at a time, and the ranks do what they have in common in the same order. A tag for each pair of
 * threads is therefore enough to bring the right ends together, and the tags of the callers are not needed.
 */
final class ThreadTransfers implements Transfers {
    private final InterProcess interProcess;
    private final List<Integer> ranks;
    private final int self;
    private Batch collecting = new Batch();

    /**
     * @param ranks of the job, in the order in which the transfers number them
     * @param thread this rank's
     */
    ThreadTransfers(InterProcess interProcess, List<Integer> ranks, int thread) {
        this.interProcess = interProcess;
        this.ranks = ranks;
        this.self = interProcess.grid().rank(thread);
    }

    @Override
    public Transfer send(ByteBuffer bytes, int to, int tag) {
        int rank = ranks.get(to);
        return collecting.add(new TransferHalf(true, bytes, interProcess.grid().processOf(rank), pairOf(self, rank)));
    }

    @Override
    public Transfer receive(ByteBuffer bytes, int from, int tag) {
        int rank = ranks.get(from);
        return collecting.add(new TransferHalf(false, bytes, interProcess.grid().processOf(rank), pairOf(rank, self)));
    }

    @Override
    public int fastestBytes() {
        return interProcess.transfers().fastestBytes();
    }

    private int pairOf(int from, int to) {
        Grid grid = interProcess.grid();
        return grid.threadOf(from) * grid.threads() + grid.threadOf(to);
    }

    /** Transfers that are started together. */
    private final class Batch {
        private final List<TransferHalf> halves = new ArrayList<>();

        Transfer add(TransferHalf half) {
            halves.add(half);
            return this::isDone;
        }

        private boolean isDone() {
            if (collecting == this) {
                collecting = new Batch();
                interProcess.backendThread().transfer(interProcess.transfers(), halves);
            }
            return true;
        }
    }
}
