package io.hvd.engine.submission;

import io.hvd.engine.message.Reducing;
import io.hvd.engine.message.Request;
import io.hvd.tensor.Tensor;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import io.hvd.trace.Recorded;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * An operation in progress: its request, its tensors, and the threads that wait for it. Some operations allocate their
 * output themselves, once they know its size. An operation of a {@link PreparedOps prepared collective} is begun again
 * after it has ended.
 */
public final class PendingOp implements Recorded, Awaited {
    private static final Object SUCCESS = new Object();
    private static final AtomicReferenceFieldUpdater<PendingOp, Object> END =
            AtomicReferenceFieldUpdater.newUpdater(PendingOp.class, Object.class, "end");

    /** The slot of its name; null for a stand-in. */
    private Slot slot;

    private final Request request;
    private final Slot.Asked asked;
    private final boolean bringsOutput;
    private final boolean inPlace;
    private final Call call;
    private final FlightRecorder recorder;
    /** The prepared collective that it belongs to; null for an operation that is submitted once. */
    private final PreparedOps owner;

    /** Null after an operation that is submitted once has ended, because its handle may live much longer. */
    private Tensor input;

    private Tensor output;
    private String site;
    /** Whether the caller does nothing else until it has ended. */
    private boolean blocking;

    /** Whether the program does not say when it is submitted. */
    private boolean inAnyOrder;

    private List<Long> received = List.of();
    private int number;
    /** Null while the operation is in progress; then {@link #SUCCESS} or the cause of its failure. */
    private volatile Object end;
    /** Made by the first thread that waits or asks to be called back. */
    private volatile CompletableFuture<Void> watcher;

    // The following fields belong to the queue, whose lock guards them.
    /** Neighbours in the order of submission. */
    PendingOp previous;

    PendingOp next;
    /** Whether it has not been announced yet. */
    boolean fresh;
    /** Whether a thread of the program waits for it. */
    boolean isAwaited;
    /** When the answer to an operation with a limit is overdue. */
    long overdueNanos;

    /**
     * @param output null where the operation allocates it
     * @param owner null for an operation that is submitted once
     */
    public PendingOp(
            Slot slot, Slot.Asked asked, Tensor input, Tensor output, FlightRecorder recorder, PreparedOps owner) {
        this(slot, asked, asked.request(), input, output, new Call(), recorder, owner);
    }

    private PendingOp(
            Slot slot,
            Slot.Asked asked,
            Request request,
            Tensor input,
            Tensor output,
            Call call,
            FlightRecorder recorder,
            PreparedOps owner) {
        this.slot = slot;
        this.asked = asked;
        this.request = request;
        this.input = input;
        this.output = output;
        this.bringsOutput = output != null;
        this.inPlace = output == input;
        this.site = asked == null ? "" : asked.site();
        this.call = call;
        this.recorder = recorder;
        this.owner = owner;
    }

    /**
     * An operation that a rank which has joined carries out in place of another rank's operation; no thread waits for
     * it. It gets its neutral elements by {@link #neutral} when it is carried out.
     */
    public static PendingOp standIn(Reducing.Allreduce request) {
        return new PendingOp(null, null, request, null, null, null, null, null);
    }

    /** Whether it takes the place of an operation that this rank has not asked for. */
    public boolean isStandIn() {
        return slot == null;
    }

    /** Sets the elements of a stand-in; the result is written over them. */
    public void neutral(Tensor elements) {
        input = elements;
        output = elements;
    }

    /**
     * Makes an operation that has ended ready to be submitted once more.
     *
     * @param line the program's line that submits it; null if it is taken to be the same line as before
     */
    void again(String line) {
        site = line == null ? site : line;
        blocking = false;
        // The queue's lock, which follows, shows it to the other threads.
        END.lazySet(this, null);
        if (watcher != null) {
            watcher = null;
        }
        if (!bringsOutput) {
            output = null;
        }
    }

    /** The caller does nothing else until it has ended; called before it is submitted. */
    public void block() {
        blocking = true;
    }

    /** In strict mode, before it is submitted. @param any whether the other ranks may submit it at another place */
    public void order(boolean any) {
        inAnyOrder = any;
    }

    public boolean isInAnyOrder() {
        return inAnyOrder;
    }

    public boolean isBlocking() {
        return blocking;
    }

    public Slot slot() {
        return slot;
    }

    /** Sets another slot, because the old one is no longer found by its name. The caller holds the queue's lock. */
    void move(Slot found) {
        slot = found;
    }

    public int set() {
        return slot.set();
    }

    public Request request() {
        return request;
    }

    public String name() {
        return request.name();
    }

    public Tensor input() {
        return input;
    }

    public Tensor output() {
        return output;
    }

    /** Whether the result is written over the input. */
    public boolean isInPlace() {
        return inPlace;
    }

    /** Sets the tensor for the result; only the thread that has the turn calls this. */
    public void provide(Tensor made) {
        output = made;
    }

    /** Sets the result; only the thread that has the turn calls this. */
    public void bring(Outcome outcome) {
        output = outcome.tensor();
        received = outcome.received();
        number = outcome.number();
    }

    @Override
    public String site() {
        return site;
    }

    /** The recorder's entry for it; null for a stand-in. */
    @Override
    public Call call() {
        return call;
    }

    @Override
    public Call.Operation operation() {
        return asked.operation();
    }

    @Override
    public long bytes() {
        return request.wireBytes();
    }

    @Override
    public boolean isDone() {
        return end != null;
    }

    boolean hasSucceeded() {
        return end == SUCCESS;
    }

    /** Whether a prepared collective owns the operation and keeps its slot. */
    boolean isPrepared() {
        return owner != null;
    }

    /**
     * The engine has taken it from the queue.
     *
     * @param negotiated true if it goes to the coordinator; false if it is taken in while a static plan holds, and an
     *     operation that makes the rank leave the plan is announced again with true
     */
    public void announce(boolean negotiated) {
        recorder.announced(call, negotiated);
    }

    /** Tells the recorder that these have succeeded, and then ends them, the first of them last. */
    public static void complete(List<PendingOp> ops) {
        FlightRecorder told = null;
        for (int i = 0; told == null && i < ops.size(); i++) {
            told = ops.get(i).recorder; // stand-ins have none
        }
        if (told != null) {
            told.ended(ops);
        }
        for (int i = 1; i < ops.size(); i++) {
            ops.get(i).end(SUCCESS);
        }
        ops.get(0).end(SUCCESS);
    }

    public void fail(Throwable cause) {
        if (call != null) {
            recorder.ended(call, cause.toString());
        }
        end(cause);
    }

    private void end(Object how) {
        if (!END.compareAndSet(this, null, how)) {
            return;
        }
        if (owner == null) {
            input = null;
        }
        CompletableFuture<Void> watching = watcher;
        if (watching != null) {
            watching.complete(null);
        }
        if (owner != null) {
            owner.ended(how == SUCCESS ? null : (Throwable) how);
        }
    }

    @Override
    public void await() {
        if (end == null) {
            watcher().join();
        }
    }

    /**
     * Calls {@code action} when the operation has ended, whether or not it has succeeded: on the thread that ends it,
     * or at once if it has ended already.
     */
    public void whenDone(Runnable action) {
        watcher().thenRun(action);
    }

    private CompletableFuture<Void> watcher() {
        CompletableFuture<Void> made;
        synchronized (this) {
            if (watcher == null) {
                watcher = new CompletableFuture<>();
            }
            made = watcher;
        }
        if (end != null) {
            made.complete(null);
        }
        return made;
    }

    /**
     * Waits for the result.
     *
     * @throws CompletionException with the cause of the operation's failure
     */
    public Outcome join() {
        await();
        Object how = end;
        if (how != SUCCESS) {
            throw new CompletionException((Throwable) how);
        }
        return new Outcome(output, received, number);
    }
}
