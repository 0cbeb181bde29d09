package io.hvd.engine;

import io.hvd.config.AutotuneSettings;
import io.hvd.config.EngineSettings;
import io.hvd.engine.loop.CommunicationThread;
import io.hvd.engine.loop.Departure;
import io.hvd.engine.loop.EngineAssembly;
import io.hvd.engine.loop.EngineParts;
import io.hvd.engine.loop.SettingsInForce;
import io.hvd.engine.loop.Wakeup;
import io.hvd.engine.message.Request;
import io.hvd.engine.plan.CallerRuns;
import io.hvd.engine.plan.HeldPlan;
import io.hvd.engine.plan.StepFollower;
import io.hvd.engine.submission.Awaited;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.PreparedOps;
import io.hvd.engine.submission.Slot;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.error.DuplicateNameException;
import io.hvd.spi.Backend;
import io.hvd.tensor.Tensor;
import io.hvd.trace.FlightRecorder;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * The engine of the collectives as the program's threads see it: they submit operations, wait for them, and close. One
 * communication thread per rank carries the operations out.
 *
 * <p>The {@link CommunicationThread} drains the operations that this rank has submitted, announces them to rank 0,
 * receives rank 0's plan and carries it out. Negotiation goes by name, so the ranks may submit in any order. Once the
 * steps repeat, the ranks carry them out without asking, until one of them is asked for anything else ({@link
 * StepFollower}), and a thread that waits anyway carries out the batches that are due itself ({@link CallerRuns}).
 */
public final class Engine {
    private final boolean strict;
    /** True on a thread within {@link #inAnyOrder}. */
    private final ThreadLocal<Boolean> anyOrder = new ThreadLocal<>();

    private final FlightRecorder recorder;
    private final TensorQueue queue;
    private final Wakeup wakeup;
    private final HeldPlan plan;
    private final CallerRuns callerRuns;
    private final SettingsInForce settings;
    private final Departure departure;
    private final CommunicationThread thread;
    /** Program threads that are waiting for a result. */
    private final AtomicInteger waiting = new AtomicInteger();

    /**
     * Called on the communication thread, on all ranks together.
     *
     * @param processSets global ranks of the process sets that exist from the start, as numbers 1, 2, ...; the same on
     *     every rank
     * @param autotune whether and how rank 0 looks for better settings
     * @param recorder is told of every call and its end
     * @param onFailure called once when the job cannot go on, before any thread that waits for a result hears of it: on
     *     the communication thread, or on a waiting thread that carries out a step itself
     */
    public Engine(
            Backend backend,
            List<List<Integer>> processSets,
            EngineSettings settings,
            AutotuneSettings autotune,
            FlightRecorder recorder,
            Consumer<String> onFailure) {
        backend.programWaits(this::isAwaited);
        EngineParts parts = new EngineAssembly(backend, settings, recorder, onFailure, this::isAwaited)
                .assemble(processSets, autotune);
        this.strict = settings.strict();
        this.recorder = recorder;
        this.queue = parts.queue();
        this.wakeup = parts.wakeup();
        this.plan = parts.plan();
        this.callerRuns = parts.callerRuns();
        this.settings = parts.settings();
        this.departure = parts.departure();
        this.thread = new CommunicationThread(parts);
    }

    /** An engine that tunes nothing; the parameters are those of the other constructor. */
    public Engine(
            Backend backend,
            List<List<Integer>> processSets,
            EngineSettings settings,
            FlightRecorder recorder,
            Consumer<String> onFailure) {
        this(backend, processSets, settings, AutotuneSettings.off(), recorder, onFailure);
    }

    /**
     * The variables of the settings that autotuning may change, with the values that hold on this rank.
     */
    public Map<String, String> tunedSettings() {
        return settings.variables();
    }

    /** What autotuning has found, in a line; empty before its end, or if it is off. */
    public Optional<String> tuningResult() {
        return settings.result();
    }

    /**
     * The bytes at which an optimizer of all ranks closes a group of gradients, 0 for its own choice; any thread.
     *
     * @param regroups whether the optimizer asks between its steps, so that tuning is worth while
     */
    public long bucketBytes(boolean regroups) {
        return settings.bucketBytes(regroups);
    }

    /**
     * Whether a step of all ranks that is submitted at its end, as a whole, ends sooner than one that is submitted bit by
     * bit while the program computes: the steps have once repeated, and what carries them out has only the cores of the threads that
     * compute. The answer stays true when a plan ends, so that the next plan has the order in which such a step submits. Any thread.
     */
    public boolean stepsTravelLate() {
        return plan.stepsTravelLate();
    }

    /** The slot of a name in a process set. */
    public Slot slot(int set, String name) {
        return queue.slot(set, name);
    }

    /**
     * Makes an operation to submit.
     *
     * @param members global ranks that take part: those of the process set, or the two of a transfer
     * @param input null where this rank brings nothing
     * @param output the tensor for the result, or null if the operation allocates it
     */
    public PendingOp operation(int set, List<Integer> members, Request request, Tensor input, Tensor output) {
        return operation(slot(set, request.name()), members, request, input, output);
    }

    /**
     * As {@link #operation(int, List, Request, Tensor, Tensor)}, for a caller that knows the slot of the request's
     * name.
     */
    public PendingOp operation(Slot slot, List<Integer> members, Request request, Tensor input, Tensor output) {
        return new PendingOp(slot, slot.ask(request, members, strict), input, output, recorder, null);
    }

    /**
     * Queues an operation.
     *
     * @param hurry true when the caller is going to wait at once
     */
    public void submit(PendingOp op, boolean hurry) {
        if (hurry) {
            op.block();
        }
        submit(List.of(op), hurry, hurry ? op : null);
    }

    /**
     * Queues operations that are announced together: all of them or, if one of the names is in use, none.
     *
     * @param hurry true to announce them at once
     */
    public void submit(List<PendingOp> ops, boolean hurry) {
        submit(ops, hurry, null);
    }

    /**
     * Runs calls that the program does not order. Strict mode compares their names and arguments, and not their places in the
     * sequence of calls.
     */
    public void inAnyOrder(Runnable calls) {
        if (!strict || anyOrder.get() != null) {
            calls.run();
            return;
        }
        anyOrder.set(true);
        try {
            calls.run();
        } finally {
            anyOrder.remove();
        }
    }

    /** Begins to prepare operations; they keep their slots until they are {@link #release released}. */
    public PreparedOps prepare() {
        return new PreparedOps();
    }

    /** Adds an operation to those that are being prepared; its parameters are those of {@link #operation}. */
    public void prepare(
            PreparedOps prepared, int set, List<Integer> members, Request request, Tensor input, Tensor output) {
        Slot slot = queue.keep(set, request.name());
        prepared.add(new PendingOp(slot, slot.ask(request, members, strict), input, output, recorder, prepared));
    }

    /** Gives up the slots of prepared operations, which are not started any more. */
    public void release(PreparedOps prepared) {
        prepared.ops().forEach(op -> queue.release(op.slot()));
    }

    /**
     * Queues prepared operations, which are announced together at once: all of them or, if one of the names is in use
     * or one of the operations is still in progress, none.
     *
     * @throws io.hvd.error.DuplicateNameException if none has been queued for this reason
     */
    public void start(List<PreparedOps> all) {
        begin(all);
        submit(PreparedOps.ops(all), true, null);
    }

    /**
     * As {@link #start}, on a thread that is going to wait for all of them at once. In a static plan it carries them out
     * before it returns, if it can, so that no other thread is woken for them.
     */
    public void startAwaited(List<PreparedOps> all) {
        begin(all);
        List<PendingOp> ops = PreparedOps.ops(all);
        for (int i = 0; i < ops.size(); i++) {
            ops.get(i).block();
        }
        submit(ops, true, new AllOf(all));
    }

    private void begin(List<PreparedOps> all) {
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
    }

    /** Several results, of which the last is started last. */
    private record AllOf(List<? extends Awaited> results) implements Awaited {
        @Override
        public boolean isDone() {
            for (int i = 0; i < results.size(); i++) {
                if (!results.get(i).isDone()) {
                    return false;
                }
            }
            return true;
        }

        @Override
        public void await() {
            results.forEach(Awaited::await);
        }
    }

    /** @param result for which the caller is going to wait at once; null if it does anything else meanwhile */
    private void submit(List<PendingOp> ops, boolean hurry, Awaited result) {
        if (ops.isEmpty()) {
            return;
        }
        try {
            // Every step takes this path, so it uses no streams: their many small classes have left the CPU's caches
            // when the next step comes.
            recorder.submitted(ops);
            if (strict) {
                boolean any = anyOrder.get() != null;
                ops.forEach(op -> op.order(any));
            }
            boolean planned = plan.plans(ops);
            boolean waits = result != null;
            if (planned && !waits) {
                plan.submitted(ops);
            }
            // Planned operations are not announced; they are hurried only for a thread that waits.
            if (queue.submit(ops, hurry && (waits || !planned), planned)) {
                boolean done = waits && callerRuns.take(result) == CallerRuns.Taken.ALL;
                if (!done) {
                    wakeup.ring();
                }
            }
            if (!planned) {
                // This comes after the operations are in the queue: a plan that begins from now on finds them there.
                plan.submittedBeside(ops);
            }
        } catch (RuntimeException | Error refused) {
            ops.forEach(op -> op.fail(refused));
            throw refused;
        }
    }

    /** Waits until an operation has ended, without saying how; the operation is announced at once. */
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
        switch (callerRuns.take(result)) {
            case ALL -> {
                return;
            }
            case PART -> wakeup.ring();
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
     * The program waits for this operation, or has learnt that it is done. What it submits from now on may need the
     * result.
     *
     * @param waits true if it waits
     */
    public void observed(PendingOp op, boolean waits) {
        if (plan.holds()) {
            plan.observed(List.of(op), waits);
        }
    }

    /** A thread waits for what was submitted: all of it is announced at once. */
    public void hurry() {
        if (queue.hurry()) {
            wakeup.ring();
        }
    }

    /** A thread waits for this operation: it is announced at once, and no static plan may hold it back. */
    public void hurry(PendingOp op) {
        hurry(List.of(op));
    }

    private void hurry(List<PendingOp> ops) {
        boolean first = queue.await(ops);
        if (queue.hurry() || (first && plan.holds())) {
            wakeup.ring();
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
     * @param last runs on a thread of its own when all ranks have closed, while they can still be reached; they wait
     *     until it returns
     */
    public void close(Runnable last) {
        departure.close(last);
        wakeup.ring();
        departure.awaitEnd();
    }

    /**
     * Tells every rank that this one cannot go on, so that no rank waits for it.
     *
     * @return true if all ranks were told within the limit
     */
    public boolean fail(String why, long limitMillis) {
        departure.fail(why);
        plan.leave();
        wakeup.ring();
        return departure.awaitEnd(limitMillis);
    }

    /** Does the communication thread's work; returns when the context is closed or the job has failed. */
    public void run() {
        thread.run();
    }
}
