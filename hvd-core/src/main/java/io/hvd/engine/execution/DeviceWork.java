package io.hvd.engine.execution;

import io.hvd.engine.message.Batch;
import io.hvd.engine.submission.PendingOp;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.DeviceWait;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * Operations that the communication thread has carried out while a device is still at work on them. The thread goes on
 * meanwhile, and so hears of a rank that dies. One thread at a time uses this class.
 */
public final class DeviceWork {
    private final Queue<Work> works = new ArrayDeque<>();
    private final Consumer<Throwable> broken;
    private final BooleanSupplier programWaits;
    private final DeviceWait wait;
    private long nanosUntilNextLook;

    private record Work(Execution execution, Completion completion) {}

    /**
     * @param broken hears of an exception that ends the job before the threads that wait for the operations do; called
     *     on any thread that carries one out
     * @param programWaits whether a thread of the program waits for a result
     */
    public DeviceWork(Consumer<Throwable> broken, BooleanSupplier programWaits) {
        this(broken, programWaits, new DeviceWait());
    }

    DeviceWork(Consumer<Throwable> broken, BooleanSupplier programWaits, DeviceWait wait) {
        this.broken = broken;
        this.programWaits = programWaits;
        this.wait = wait;
    }

    /** Makes the execution of an agreed batch, to be carried out and then settled here. */
    public Execution begin(SetMember set, List<PendingOp> ops, Batch.Run batch) {
        return new Execution(set, ops, batch, broken);
    }

    /** Completes operations that have been carried out: at once, or when the device has done its part. */
    public void settle(Execution execution) {
        Completion completion = execution.completion();
        if (completion == null) {
            execution.complete();
        } else {
            works.add(new Work(execution.kept(), completion));
        }
    }

    /**
     * Completes the operations that devices have finished by now, in order. If others are left, this may give way to
     * threads that want the core.
     */
    public void look() {
        nanosUntilNextLook = 0;
        for (Work first = works.peek(); first != null; first = works.peek()) {
            if (!first.execution().isDone(first.completion())) {
                nanosUntilNextLook = wait.nanosUntilNextLook(programWaits.getAsBoolean());
                return;
            }
            works.remove();
            first.execution().complete();
        }
    }

    public boolean isEmpty() {
        return works.isEmpty();
    }

    /** Time until the next look; a message of another rank wakes the thread anyway. */
    public long nanosUntilDue() {
        return works.isEmpty() ? Long.MAX_VALUE : nanosUntilNextLook;
    }

    public void fail(Throwable cause) {
        works.forEach(work -> work.execution().fail(cause));
        works.clear();
    }
}
