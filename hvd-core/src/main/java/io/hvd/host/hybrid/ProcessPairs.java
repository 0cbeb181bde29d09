package io.hvd.host.hybrid;

import io.hvd.host.hybrid.BackendThread.TransferHalf;
import io.hvd.kernel.Converter;
import io.hvd.kernel.Scale;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Transfers between this rank and other ranks, by way of the back end between the processes; it also brings bytes from
 * one thread of a process to another. A rank does one thing at a time, and the ranks do what they
 * have in common in the same order, so that a tag for each pair of threads is enough to bring the right ends together.
 */
final class ProcessPairs {
    private final InterProcess interProcess;
    private final int self;

    /** @param thread this rank's */
    ProcessPairs(InterProcess interProcess, int thread) {
        this.interProcess = interProcess;
        this.self = interProcess.grid().rank(thread);
    }

    boolean isHere(int rank) {
        return interProcess.grid().isHere(rank);
    }

    int threadOf(int rank) {
        return interProcess.grid().threadOf(rank);
    }

    /** @param bytes direct, from its position to its limit */
    TransferHalf to(int rank, ByteBuffer bytes) {
        return new TransferHalf(true, bytes, interProcess.grid().processOf(rank), tag(self, rank));
    }

    TransferHalf from(int rank, ByteBuffer bytes) {
        return new TransferHalf(false, bytes, interProcess.grid().processOf(rank), tag(rank, self));
    }

    private int tag(int from, int to) {
        Grid grid = interProcess.grid();
        return grid.threadOf(from) * grid.threads() + grid.threadOf(to);
    }

    void transfer(List<TransferHalf> halves) {
        interProcess.backendThread().transfer(interProcess.transfers(), halves);
    }

    /** @param stage this rank's own */
    void send(Tensor tensor, int rank, ByteBuffer stage) {
        Converter converter = new Converter();
        inPieces(tensor, stage, (first, count, piece) -> {
            converter.pack(tensor, first, count, stage, 0, tensor.dtype(), 1);
            transfer(List.of(to(rank, piece)));
        });
    }

    void receive(Tensor tensor, int rank, ByteBuffer stage) {
        Converter converter = new Converter();
        inPieces(tensor, stage, (first, count, piece) -> {
            transfer(List.of(from(rank, piece)));
            converter.unpack(stage, 0, tensor.dtype(), tensor, first, count, Scale.ONE);
        });
    }

    private interface Move {
        void make(long first, int count, ByteBuffer piece);
    }

    private static void inPieces(Tensor tensor, ByteBuffer stage, Move move) {
        DType type = tensor.dtype();
        int most = stage.capacity() / type.bytes();
        for (long first = 0; first < tensor.elements(); first += most) {
            int count = (int) Math.min(most, tensor.elements() - first);
            move.make(first, count, stage.slice(0, count * type.bytes()));
        }
    }
}
