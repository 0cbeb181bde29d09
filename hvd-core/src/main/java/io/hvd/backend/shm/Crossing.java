package io.hvd.backend.shm;

import io.hvd.spi.Activities;
import io.hvd.spi.BegunCollectives;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Pieces;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * The data plane between a rank and those at its place on the other hosts, which combines a host's result with theirs
 * or copies it to them. Only the communication thread uses it.
 */
final class Crossing {
    /** How long a thread sleeps while the network works on. A thread that wakes up takes a core that others want. */
    private static final long PAUSE_NANOS = 20_000;

    private final DataPlane across;
    private final BegunCollectives begun;
    private final List<Completion> underWay = new ArrayList<>();

    /** @param across the data plane of the ranks at this rank's place on every host */
    Crossing(DataPlane across) {
        this.across = across;
        this.begun = across.begun();
    }

    void report(Activities to) {
        across.report(to);
    }

    /** Begins to combine a slice; calls of {@link #moveOn} and {@link #await} move it on. */
    Completion begin(ByteBuffer result, int first, int count, Reduction how) {
        if (count == 0) {
            return () -> true;
        }
        return add(begun.beginAllreduce(slice(result, first, count, how.wire()), how.unscaled()));
    }

    /** Begins to copy bytes from the host {@code root} to all other hosts. */
    Completion beginBroadcast(ByteBuffer bytes, int root) {
        return bytes.capacity() == 0 ? () -> true : add(begun.beginBroadcast(tensor(bytes), root));
    }

    /**
     * Begins to give all hosts the bytes of each host.
     *
     * @param bytes the bytes of all hosts, one behind the other, of which this host's are there already
     * @param lengths number of bytes, by host
     */
    Completion beginAllgather(ByteBuffer bytes, long[] lengths, int own) {
        int first = Math.toIntExact(Pieces.oneBehindTheOther(lengths).starts()[own]);
        ByteBuffer mine = bytes.slice(first, Math.toIntExact(lengths[own]));
        return add(begun.beginAllgather(tensor(mine), tensor(bytes), lengths));
    }

    /**
     * Begins to give every host its part of each host's bytes.
     *
     * @param sent number of bytes, by host
     * @param mine number of bytes that come from every host
     */
    Completion beginScatter(ByteBuffer from, long[] sent, ByteBuffer to, int mine) {
        long[] received = new long[sent.length];
        Arrays.fill(received, mine);
        long longest = Pieces.oneBehindTheOther(sent).longest();
        return add(begun.beginAlltoall(tensor(from), tensor(to), sent, received, longest));
    }

    private Completion add(Completion one) {
        underWay.add(one);
        return one;
    }

    private static Tensor tensor(ByteBuffer bytes) {
        return Tensor.wrap(bytes.order(ByteOrder.nativeOrder()), DType.UINT8, Shape.of(bytes.capacity()));
    }

    /**
     * Moves on what is under way, and sleeps briefly if nothing has arrived.
     *
     * @return false if nothing is under way
     */
    boolean moveOn() {
        if (!underWay.isEmpty() && !underWay.removeIf(Completion::isDone)) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        return !underWay.isEmpty();
    }

    /** Waits until one is done, and moves the others on meanwhile. */
    void await(Completion one) {
        while (!one.isDone()) {
            moveOn();
        }
    }

    /** @return false if a rank of another host has vetoed */
    boolean combineUnlessVetoed(ByteBuffer result, int first, int count, Reduction how) {
        List<Tensor> slice = List.of(slice(result, first, count, how.wire()));
        return across.allreduceUnlessVetoed(slice, slice, how.unscaled());
    }

    void veto(int count, Reduction how) {
        across.vetoAllreduce(Device.CPU, count, how.unscaled());
    }

    private static Tensor slice(ByteBuffer result, int first, int count, DType type) {
        ByteBuffer part = result.slice(first * type.bytes(), count * type.bytes());
        return Tensor.wrap(part.order(ByteOrder.nativeOrder()), type, Shape.of(count));
    }

    void abandon() {
        across.abandon();
    }

    void close() {
        across.close();
    }
}
