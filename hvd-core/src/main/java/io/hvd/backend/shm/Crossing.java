package io.hvd.backend.shm;

import io.hvd.spi.Activities;
import io.hvd.spi.Collectives;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** Combines what a host has come to with the other hosts, in place. Communication thread. */
final class Crossing {
    /** So long the network goes on with what it has; whoever wakes up gets a core that others want. */
    private static final long PAUSE_NANOS = 20_000;

    private final Collectives across;
    private final List<Completion> underWay = new ArrayList<>();

    /** @param across of the ranks at this one's place on every host */
    Crossing(Collectives across) {
        this.across = across;
    }

    void report(Activities to) {
        across.report(to);
    }

    /** Begins to combine a slice; it moves on by {@link #moveOn} and {@link #await}. */
    Completion begin(ByteBuffer result, int first, int count, Reduction how) {
        if (count == 0) {
            return () -> true;
        }
        Completion begun = across.beginAllreduce(slice(result, first, count, how.wire()), onTheWay(how));
        underWay.add(begun);
        return begun;
    }

    /** Takes a short rest if nothing has arrived. @return false if there is nothing under way */
    boolean moveOn() {
        if (!underWay.isEmpty() && !underWay.removeIf(Completion::isDone)) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        return !underWay.isEmpty();
    }

    /** Until it is there; the others move on too. */
    void await(Completion one) {
        while (!one.isDone()) {
            moveOn();
        }
    }

    /** @return false if a rank of another host has vetoed */
    boolean combineUnlessVetoed(ByteBuffer result, int first, int count, Reduction how) {
        List<Tensor> slice = List.of(slice(result, first, count, how.wire()));
        return across.allreduceUnlessVetoed(slice, slice, onTheWay(how));
    }

    void veto(int count, Reduction how) {
        across.vetoAllreduce(Device.CPU, count, onTheWay(how));
    }

    private static Tensor slice(ByteBuffer result, int first, int count, DType type) {
        ByteBuffer part = result.slice(first * type.bytes(), count * type.bytes());
        return Tensor.wrap(part.order(ByteOrder.nativeOrder()), type, Shape.of(count));
    }

    /** What was scaled and converted on the way to the segment stays so. */
    private static Reduction onTheWay(Reduction how) {
        return new Reduction(how.op(), how.wire(), 1, 1);
    }

    void abandon() {
        across.abandon();
    }

    void close() {
        across.close();
    }
}
