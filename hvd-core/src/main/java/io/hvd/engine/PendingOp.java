package io.hvd.engine;

import io.hvd.tensor.Tensor;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import io.hvd.trace.Recorded;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * An operation on its way: what was asked, where the elements lie, and who waits. Some operations make
 * their output themselves, once they know its size. An operation of a {@link PreparedOps prepared collective} is begun again
 * when it has ended.
 */
public final class PendingOp implements Recorded, Awaited {
    private static final Object SUCCESS = new Object();
    private static final AtomicReferenceFieldUpdater<PendingOp, Object> END =
            AtomicReferenceFieldUpdater.newUpdater(PendingOp.class, Object.class, "end");

    /** Null for a stand-in. */
    private Slot slot;

    private final Request request;
    private final Slot.Asked asked;
    private final boolean bringsOutput;
    private final boolean inPlace;
    private final Call call;
    private final FlightRecorder recorder;
    /** Null for an operation that is submitted once. */
    private final PreparedOps owner;

    /** Null once an operation that is submitted once has ended: its handle may live much longer. */
    private Tensor input;

    private Tensor output;
    private String site;
    private List<Long> received = List.of();
    private int number;
    /** Null while it is under way; then {@link #SUCCESS} or why it has failed. */
    private volatile Object end;
    /** Made by the first who waits or wants to be called back. */
    private volatile CompletableFuture<Void> watcher;

    // The queue's, under its lock.
    /** Neighbours in the order of submission. */
    PendingOp previous;

    PendingOp next;
    /** Not announced yet. */
    boolean fresh;
    /** A thread of the program waits for it. */
    boolean isAwaited;
    /** When the answer to an operation with a limit is overdue. */
    long overdueNanos;

    /**
     * @param output null where the operation makes it
     * @param owner null for an operation that is submitted once
     */
    PendingOp(Slot slot, Slot.Asked asked, Tensor input, Tensor output, FlightRecorder recorder, PreparedOps owner) {
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

    /** What a rank that has joined carries out in place of another rank's operation; nobody waits for it. */
    static PendingOp standIn(Reducing.Allreduce template) {
        Reducing.Allreduce request = Neutral.unscaled(template);
        Tensor neutral = Neutral.tensor(request);
        return new PendingOp(null, null, request, neutral, neutral, null, null, null);
    }

    /**
     * Makes it ready to be submitted once more; it has ended.
     *
     * @param line of the program that does it; null if it is taken to be the one of before
     */
    void again(String line) {
        site = line == null ? site : line;
        end = null;
        watcher = null;
        if (!bringsOutput) {
            output = null;
        }
    }

    Slot slot() {
        return slot;
    }

    /** Under the queue's lock: the slot that it had is not found by its name any more. */
    void move(Slot found) {
        slot = found;
    }

    int set() {
        return slot.set();
    }

    public Request request() {
        return request;
    }

    public String name() {
        return request.name();
    }

    Tensor input() {
        return input;
    }

    public Tensor output() {
        return output;
    }

    /** Whether the result is written over the input. */
    public boolean isInPlace() {
        return inPlace;
    }

    /** Where the result goes after all; for whoever has the turn. */
    void provide(Tensor made) {
        output = made;
    }

    /** What the operation has come to, besides the output; for whoever has the turn. */
    void bring(Outcome outcome) {
        output = outcome.tensor();
        received = outcome.received();
        number = outcome.number();
    }

    @Override
    public String site() {
        return site;
    }

    /** As the recorder knows it; null for a stand-in. */
    @Override
    public Call call() {
        return call;
    }

    @Override
    public Call.Operation operation() {
        return asked.operation();
    }

    @Override
    public boolean isDone() {
        return end != null;
    }

    boolean hasSucceeded() {
        return end == SUCCESS;
    }

    /** Whether a prepared collective keeps it, and its slot. */
    boolean isPrepared() {
        return owner != null;
    }

    /** The engine has taken it from the queue. */
    void announce(boolean negotiated) {
        recorder.announced(call, negotiated);
    }

    /** Tells the recorder that these have succeeded, and then ends them, the first of them last. */
    static void complete(List<PendingOp> ops) {
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

    void fail(Throwable cause) {
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

    /** Calls back when it has ended, in whatever way, on the thread that ends it. */
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
     * Waits for what it brings.
     *
     * @throws CompletionException with the cause of its failure
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
