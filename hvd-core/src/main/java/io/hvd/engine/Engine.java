package io.hvd.engine;

import io.hvd.config.EngineSettings;
import io.hvd.error.DuplicateNameException;
import io.hvd.spi.Backend;
import io.hvd.tensor.Tensor;
import io.hvd.trace.FlightRecorder;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * What program threads see of the collectives' engine: they submit operations, wait for them, and close. A communication
 * thread per rank carries the operations out.
 *
 * <p>The way is straight: the {@link CommunicationLoop} drains what this rank asked for, announces it to rank 0, receives
 * rank 0's plan and carries it out. Negotiation goes by name, so the ranks may submit in any order.
 * Once the steps repeat, the ranks carry them out without asking, until one of them is asked for anything
 * else ({@link StepFollower}), and a thread that waits anyway carries out what is due itself ({@link Shortcut}).
 */
public final class Engine {
    private final Backend backend;
    private final boolean strict;
    private final FlightRecorder recorder;
    private final TensorQueue queue;
    private final HeldPlan plan;
    private final Shortcut shortcut;
    private final CommunicationLoop loop;
    /** Program threads that are waiting for a result. */
    private final AtomicInteger waiting = new AtomicInteger();

    /**
     * Made on the communication thread, on all ranks together.
     *
     * @param processSets members of process sets that are there from the start, as number 1, 2, ...; the
     *     same on every rank
     * @param recorder told of every call and its end
     * @param onFailure told once when the job cannot go on, before anybody who waits for a result is: on the communication
     *     thread, or on one that waits and carries a step out itself
     */
    public Engine(
            Backend backend,
            List<List<Integer>> processSets,
            EngineSettings settings,
            FlightRecorder recorder,
            Consumer<String> onFailure) {
        this.backend = backend;
        backend.programWaits(this::isAwaited);
        this.strict = settings.strict();
        this.recorder = recorder;
        this.queue = new TensorQueue(Math.max(1, settings.fusionThresholdBytes()), settings.cycleNanos());
        this.loop = new CommunicationLoop(backend, processSets, settings, recorder, onFailure, queue);
        this.plan = loop.plan();
        this.shortcut = loop.shortcut();
    }

    /** The slot of a name in a process set. */
    public Slot slot(int set, String name) {
        return queue.slot(set, name);
    }

    /**
     * An operation to submit.
     *
     * @param members global ranks that take part: those of the process set, or the two of a transfer
     * @param input null where this rank brings nothing
     * @param output where the result goes, or null if the operation makes it
     */
    public PendingOp operation(int set, List<Integer> members, Request request, Tensor input, Tensor output) {
        return operation(slot(set, request.name()), members, request, input, output);
    }

    /** As the other one, if the caller knows the slot of the request's name. */
    public PendingOp operation(Slot slot, List<Integer> members, Request request, Tensor input, Tensor output) {
        return new PendingOp(slot, slot.ask(request, members, strict), input, output, recorder, null);
    }

    /**
     * Queues an operation.
     *
     * @param hurry true when the caller is going to wait at once
     */
    public void submit(PendingOp op, boolean hurry) {
        submit(List.of(op), hurry, hurry);
    }

    /**
     * Queues operations that are announced together; all of them or, if one name is taken, none.
     *
     * @param hurry true to announce them at once
     */
    public void submit(List<PendingOp> ops, boolean hurry) {
        submit(ops, hurry, false);
    }

    /** Begins to prepare operations; they keep their slots until they are {@link #release released}. */
    public PreparedOps prepare() {
        return new PreparedOps();
    }

    /** Adds an in-place operation to those that are being prepared; its parameters are those of {@link #operation}. */
    public void prepare(PreparedOps prepared, int set, List<Integer> members, Request request, Tensor tensor) {
        Slot slot = queue.keep(set, request.name());
        prepared.add(new PendingOp(slot, slot.ask(request, members, strict), tensor, tensor, recorder, prepared));
    }

    /** Prepared operations that nobody starts any more. */
    public void release(PreparedOps prepared) {
        prepared.ops().forEach(op -> queue.release(op.slot()));
    }

    /**
     * Queues prepared operations, which are announced together, at once; all of them or, if one name is taken or one of them
     * is still in progress, none.
     */
    public void start(List<PreparedOps> all) {
        for (int i = 0; i < all.size(); i++) {
            if (!all.get(i).isDone()) {
                var refused = new DuplicateNameException(
                        "the prepared collective of tensors " + all.get(i).names()
                                + " was started while its last start is still in progress on this rank; await it first");
                PreparedOps.ops(all.subList(0, i)).forEach(op -> op.fail(refused));
                throw refused;
            }
            all.get(i).begin(strict);
        }
        submit(PreparedOps.ops(all), true, false);
    }

    /** @param waits true if the caller would do nothing else meanwhile */
    private void submit(List<PendingOp> ops, boolean hurry, boolean waits) {
        if (ops.isEmpty()) {
            return;
        }
        try {
            // No streams on the way of every step: their many small classes have left the caches when the next step
            // comes.
            recorder.submitted(ops);
            boolean planned = plan.plans(ops);
            if (planned) {
                plan.submitted(ops);
            }
            // What is planned is announced to nobody; its hurry is that of whoever waits.
            if (queue.submit(ops, hurry && (waits || !planned), planned)) {
                boolean done = waits && shortcut.take(ops.get(ops.size() - 1)) == Shortcut.Taken.ALL;
                if (!done) {
                    backend.control().wakeUp();
                }
            }
            if (!planned) {
                // After it is in the queue: a plan that begins from now on finds it there.
                plan.submittedBeside(ops);
            }
        } catch (RuntimeException | Error refused) {
            ops.forEach(op -> op.fail(refused));
            throw refused;
        }
    }

    /** Waits until an operation has ended, of which it tells the caller nothing; it is announced at once. */
    public void await(PendingOp op) {
        await(op, List.of(op));
    }

    /** Waits until prepared operations have ended. */
    public void await(PreparedOps prepared) {
        plan.observed(prepared.ops(), true);
        if (!prepared.isDone()) {
            await(prepared, prepared.ops());
        }
    }

    private void await(Awaited result, List<PendingOp> ops) {
        switch (shortcut.take(result)) {
            case ALL -> {
                return;
            }
            case PART -> backend.control().wakeUp();
            case NOTHING -> {}
        }
        hurry(ops);
        long begun = recorder.isHeard() ? System.nanoTime() : 0;
        waiting.incrementAndGet();
        try {
            result.await();
        } finally {
            waiting.decrementAndGet();
            if (begun != 0) {
                recorder.waited(ops.get(0).set(), ops.get(0).name(), begun);
            }
        }
    }

    /**
     * The program waits for this operation, or has learnt that it is done: what it submits from now on may need the result.
     *
     * @param waits whether it waits
     */
    public void observed(PendingOp op, boolean waits) {
        if (plan.holds()) {
            plan.observed(List.of(op), waits);
        }
    }

    /** Somebody waits for what was submitted: it is announced at once. */
    public void hurry() {
        if (queue.hurry()) {
            backend.control().wakeUp();
        }
    }

    /** Somebody waits for this operation: it is announced at once, and no static plan may hold it back. */
    public void hurry(PendingOp op) {
        hurry(List.of(op));
    }

    private void hurry(List<PendingOp> ops) {
        boolean first = queue.await(ops);
        if (queue.hurry() || (first && plan.holds())) {
            backend.control().wakeUp();
        }
    }

    /** Whether the program waits for a result at the moment. */
    public boolean isAwaited() {
        return waiting.get() > 0;
    }

    public void close() {
        close(() -> {});
    }

    /**
     * Leaves together with the other ranks; returns when all of them have closed or the job has failed.
     *
     * @param last runs on a thread of its own when all ranks have closed, while they can still be reached; they wait for it
     */
    public void close(Runnable last) {
        loop.close(last);
    }

    /**
     * Tells every rank that this one cannot go on, so that nobody waits for it.
     *
     * @return true if all ranks were told within the limit
     */
    public boolean fail(String why, long limitMillis) {
        return loop.fail(why, limitMillis);
    }

    /** The communication thread's life; returns when the context is closed or the job has failed. */
    public void run() {
        loop.run();
    }
}
