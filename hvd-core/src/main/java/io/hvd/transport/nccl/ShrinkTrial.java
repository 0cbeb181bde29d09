package io.hvd.transport.nccl;

import io.hvd.cuda.CudaDevice;
import io.hvd.cuda.CudaEvent;
import io.hvd.cuda.CudaStream;
import io.hvd.cuda.DeviceStage;
import io.hvd.cuda.PinnedStage;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import java.nio.FloatBuffer;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Tries whether NCCL goes on after the loss of a rank. All ranks but the last begin an allreduce to which the last one
 * never comes. They abort it, make a communicator without that rank by {@code ncclCommShrink}, and allreduce over that.
 * The communicators are the trial's own; hvd itself ends the job when a rank is lost.
 *
 * <p>All ranks make the same calls together. One thread uses a trial, and the GPU becomes its current one.
 */
public final class ShrinkTrial implements AutoCloseable {
    /** An allreduce that has not ended for so long waits for the rank that does not come. */
    private static final long STUCK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(20);

    private static final long LOOK_NANOS = 50_000;
    /** The elements of a tensor differ from their neighbours. */
    private static final int PATTERN = 7;

    private final NcclCalls nccl;
    private final CudaDevice cuda;
    private final int index;
    private final CudaStream stream;
    private final DeviceStage memory;
    private final PinnedStage pinned;
    private final int elements;
    private final long limitNanos;

    /** The reason why there can be no trial in this process; empty if there can. */
    public static Optional<String> obstacle() {
        NcclPresence presence = NcclPresence.ofThisProcess();
        return presence.calls() == null
                ? Optional.of("NCCL cannot be used: " + presence.missing())
                : presence.calls().withoutShrink();
    }

    /**
     * Opens the GPU, if there is no {@link #obstacle}.
     *
     * @param elements number of the float32 elements that are reduced
     */
    public static ShrinkTrial open(Device device, int elements) {
        NcclCalls nccl = NcclPresence.ofThisProcess().calls();
        return new ShrinkTrial(nccl, CudaDevice.open(device.index()), device.index(), elements, LIMIT_NANOS);
    }

    /** @param limitNanos the most time that an aborted kernel, or an allreduce of the ranks that are left, may take */
    ShrinkTrial(NcclCalls nccl, CudaDevice cuda, int index, int elements, long limitNanos) {
        this.nccl = nccl;
        this.cuda = cuda;
        this.index = index;
        this.elements = elements;
        this.limitNanos = limitNanos;
        cuda.enter();
        this.stream = cuda.createStream();
        this.memory = cuda.allocate((long) elements * Float.BYTES);
        this.pinned = cuda.allocatePinned(elements * Float.BYTES);
    }

    /** The id of the communicator that all ranks share; one of them makes it. */
    public byte[] uniqueId() {
        return nccl.uniqueId();
    }

    /**
     * What a rank has seen.
     *
     * @param wrong what went wrong; empty if nothing did
     * @param millis the time from the abort to the result of the ranks that are left; 0 on the rank that was lost
     */
    public record Result(String wrong, double millis) {}

    /**
     * Goes through the trial.
     *
     * @param uniqueId that of one rank
     * @param meet returns when all ranks have called it
     */
    public Result run(byte[] uniqueId, int rank, int size, Runnable meet) {
        cuda.enter();
        nccl.selectDevice(index);
        NcclCommunicator all = new NcclCommunicator(nccl, uniqueId, size, rank, stream.handle());
        try {
            String wrong = sum(all);
            if (rank < size - 1) {
                return goOnWithoutLast(all, wrong, meet);
            }
            // The lost rank's end of the communicator must stay as it is until the others have no use for it.
            meet.run();
            return new Result(wrong, 0);
        } finally {
            // Memory cannot be freed while a kernel waits for another rank.
            all.abortHere();
        }
    }

    private Result goOnWithoutLast(NcclCommunicator all, String before, Runnable meet) {
        CudaEvent end = begin(all);
        LockSupport.parkNanos(STUCK_NANOS);
        if (end.isReached()) {
            meet.run();
            return new Result(before + "an allreduce ended to which rank " + (all.size() - 1) + " did not come; ", 0);
        }
        long abort = System.nanoTime();
        NcclCommunicator left = all.withoutLast();
        try {
            String wrong = before + (isReached(end) ? "" : "the aborted allreduce did not leave the GPU; ");
            end.close();
            wrong += sum(left);
            double millis = (System.nanoTime() - abort) / 1e6;
            meet.run();
            return new Result(wrong, millis);
        } finally {
            // Leaving in order would wait for an allreduce that does not end, on this rank or on another.
            left.abortHere();
        }
    }

    /** Makes an allreduce and compares its result. @return what is wrong with the result; empty if it is right */
    private String sum(NcclCommunicator ranks) {
        write(ranks.rank());
        CudaEvent end = begin(ranks);
        boolean reached = isReached(end);
        end.close();
        if (!reached) {
            return "an allreduce of " + ranks.size() + " ranks did not end; ";
        }
        return compare(ranks.size());
    }

    private CudaEvent begin(NcclCommunicator ranks) {
        ranks.with(
                ReduceOp.SUM,
                operator -> ranks.allReduce(memory.address(), memory.address(), elements, DType.FLOAT32, operator));
        return stream.recordEvent();
    }

    private boolean isReached(CudaEvent event) {
        long begun = System.nanoTime();
        while (!event.isReached()) {
            if (System.nanoTime() - begun > limitNanos) {
                return false;
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
        return true;
    }

    private static float value(int rank, int element) {
        return (rank + 1) * (element % PATTERN + 1);
    }

    private void write(int rank) {
        FloatBuffer floats = pinned.buffer().asFloatBuffer();
        for (int i = 0; i < elements; i++) {
            floats.put(i, value(rank, i));
        }
        pinned.copyToDevice(0, memory.address(), elements * Float.BYTES, stream.handle());
    }

    private String compare(int size) {
        pinned.copyFromDevice(memory.address(), 0, elements * Float.BYTES, stream.handle());
        stream.await();
        FloatBuffer floats = pinned.buffer().asFloatBuffer();
        for (int i = 0; i < elements; i++) {
            float expected = 0;
            for (int rank = 0; rank < size; rank++) {
                expected += value(rank, i);
            }
            if (floats.get(i) != expected) {
                return "element " + i + " of an allreduce of " + size + " ranks is " + floats.get(i) + ", expected "
                        + expected + "; ";
            }
        }
        return "";
    }

    @Override
    public void close() {
        cuda.enter();
        pinned.close();
        memory.close();
        stream.close();
        cuda.close();
    }
}
