package io.hvd.engine;

import io.hvd.config.EngineSettings;
import io.hvd.config.Processors;
import io.hvd.engine.Announcement.Wishes;
import io.hvd.engine.Plan.Batch;
import io.hvd.error.BarrierTimeoutException;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.error.ShutdownException;
import io.hvd.spi.Backend;
import io.hvd.tensor.Tensor;
import io.hvd.trace.FlightRecorder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * One communication thread per rank that turns submitted tensors into collective calls.
 *
 * <p>The way is straight: drain what this rank asked for, announce it to rank 0, receive rank 0's
 * plan, carry it out. Only this thread talks to the {@link Backend}, but for steps that a waiting thread
 * carries out itself ({@link Shortcut}). Negotiation goes by name, so the ranks may submit in any order.
 * Once the steps repeat, the ranks carry them out without asking, until one of them is asked for anything
 * else ({@link StepFollower}).
 */
public final class Engine {
    private static final int ALL = 0;

    private final Backend backend;
    private final EngineSettings settings;
    private final int rank;
    private final TensorQueue queue;
    private final CoordinatorLine coordinator;

    private final FlightRecorder recorder;
    private final DataLog log;
    private final Consumer<String> onFailure;
    private final Map<Integer, SetMember> sets = new TreeMap<>();
    private final PlanExit exit;
    private final StepFollower steps;
    private final Shortcut shortcut;
    private final KnownCalls calls;
    private final Unfinished unfinished = new Unfinished(this::broken);
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private final AtomicBoolean givenUp = new AtomicBoolean();
    /** Program threads that are waiting for a result. */
    private final AtomicInteger waiting = new AtomicInteger();

    private volatile boolean closing;
    private volatile Runnable farewell = () -> {};
    private volatile String failure = "";
    private boolean closingAnnounced;
    private boolean failureAnnounced;

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
        this.settings = settings;
        this.rank = backend.topology().rank();
        this.queue = new TensorQueue(Math.max(1, settings.fusionThresholdBytes()), settings.cycleNanos());
        int size = backend.topology().size();
        this.coordinator = line(size, processSets);
        this.recorder = recorder;
        this.log = new DataLog(recorder);
        this.onFailure = onFailure;
        List<Integer> all = IntStream.range(0, size).boxed().toList();
        sets.put(ALL, new SetMember(ALL, all, rank, backend.collectives(), settings, log));
        boolean plans = settings.staticPlanSteps() > 0 && !settings.strict();
        this.exit = PlanExit.open(backend, plans, backend.control()::wakeUp);
        this.steps = new StepFollower(
                sets.get(ALL),
                queue,
                log,
                unfinished,
                exit,
                rank == 0 ? new StepStudy(settings, takesCoresFromProgram()) : null);
        this.shortcut = new Shortcut(steps);
        this.calls = new KnownCalls(recorder, settings.strict());
        for (int i = 0; i < processSets.size(); i++) {
            enter(i + 1, processSets.get(i));
        }
    }

    /** Whether the data plane works while the program could: all ranks on one host, with fewer cores than threads. */
    private boolean takesCoresFromProgram() {
        int ranks = backend.topology().size();
        return backend.topology().localSize() == ranks
                && 2 * ranks > Processors.ofThisProcess(ranks).ofAll(ranks);
    }

    private CoordinatorLine line(int size, List<List<Integer>> processSets) {
        List<String> hosts = backend.topology().hosts();
        return rank == 0
                ? new CoordinatorHere(
                        new Coordinator(size, processSets, settings, this::ready, backend.collectives()::takesVetoes),
                        backend.control(),
                        hosts)
                : new CoordinatorAway(backend.control(), hosts);
    }

    /**
     * An operation to submit.
     *
     * @param members global ranks that take part: those of the process set, or the two of a transfer
     * @param input null where this rank brings nothing
     * @param output where the result goes, or null if the operation makes it
     */
    public record Submission(int set, List<Integer> members, Request request, Tensor input, Tensor output) {}

    /**
     * Queues an operation; the result completes on the communication thread.
     *
     * @param hurry true when the caller is going to wait at once
     */
    public CompletableFuture<Outcome> submit(Submission submission, boolean hurry) {
        return submit(List.of(submission), hurry, hurry).get(0);
    }

    /**
     * Queues operations that are announced together; all of them or, if one name is taken, none.
     *
     * @param hurry true to announce them at once
     */
    public List<CompletableFuture<Outcome>> submit(List<Submission> submissions, boolean hurry) {
        return submit(submissions, hurry, false);
    }

    /** @param waits true if the caller would do nothing else meanwhile */
    private List<CompletableFuture<Outcome>> submit(List<Submission> submissions, boolean hurry, boolean waits) {
        // No streams on the way of every step: their many small classes have left the caches when the next step comes.
        List<PendingOp> ops = new ArrayList<>(submissions.size());
        for (Submission submission : submissions) {
            ops.add(pending(submission));
        }
        try {
            boolean planned = !ops.isEmpty() && steps.plans(submissions);
            if (planned) {
                steps.submitted(ops);
            }
            // What is planned is announced to nobody; its hurry is that of whoever waits.
            if (!ops.isEmpty() && queue.submit(ops, hurry && (waits || !planned), planned)) {
                boolean done = waits && shortcut.take(ops.get(ops.size() - 1).result()) == Shortcut.Taken.ALL;
                if (!done) {
                    backend.control().wakeUp();
                }
            }
            if (!planned) {
                // After it is in the queue: a plan that begins from now on finds it there.
                steps.submittedBeside(submissions);
            }
        } catch (HvdException refused) {
            ops.forEach(op -> op.fail(refused));
            throw refused;
        }
        List<CompletableFuture<Outcome>> results = new ArrayList<>(ops.size());
        for (PendingOp op : ops) {
            results.add(op.result());
        }
        return results;
    }

    private PendingOp pending(Submission asked) {
        return new PendingOp(
                asked.set(), asked.request(), asked.input(), asked.output(), calls.submitted(asked), recorder);
    }

    /** Waits for a result, of which it tells the caller nothing; it is announced at once. */
    public void await(int set, String name, CompletableFuture<Outcome> result) {
        switch (shortcut.take(result)) {
            case ALL -> {
                return;
            }
            case PART -> backend.control().wakeUp();
            case NOTHING -> {}
        }
        hurry(set, name);
        long begun = recorder.isHeard() ? System.nanoTime() : 0;
        waiting.incrementAndGet();
        try {
            result.join();
        } catch (CompletionException failed) {
            // The failure is thrown where the result is asked for.
        } finally {
            waiting.decrementAndGet();
            if (begun != 0) {
                recorder.waited(set, name, begun);
            }
        }
    }

    /**
     * The program waits for this operation, or has learnt that it is done: what it submits from now on may need the result.
     *
     * @param waits whether it waits
     */
    public void observed(int set, String name, boolean waits) {
        steps.observed(set, name, waits);
    }

    /** Somebody waits for what was submitted: it is announced at once. */
    public void hurry() {
        if (queue.hurry()) {
            backend.control().wakeUp();
        }
    }

    /** Somebody waits for this operation: it is announced at once, and no static plan may hold it back. */
    public void hurry(int set, String name) {
        boolean first = queue.await(new PendingOp.Key(set, name));
        if (queue.hurry() || (first && steps.follows())) {
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
        farewell = last;
        closing = true;
        backend.control().wakeUp();
        ended.join();
    }

    /**
     * Tells every rank that this one cannot go on, so that nobody waits for it.
     *
     * @return true if all ranks were told within the limit
     */
    public boolean fail(String why, long limitMillis) {
        failure = why;
        steps.leave();
        backend.control().wakeUp();
        try {
            ended.get(limitMillis, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException | ExecutionException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** The communication thread's life; returns when the context is closed or the job has failed. */
    public void run() {
        String why = "this rank's context is closed";
        boolean orderly = false;
        try {
            Plan last = cycleUntilTheEnd();
            if (last.stop()) {
                last = leave(why);
            }
            orderly = last.stop();
            why = orderly ? why : last.failure();
        } catch (Throwable e) {
            why = broken(e);
        } finally {
            ShutdownException cause = new ShutdownException(why);
            queue.close(cause);
            unfinished.fail(cause);
            exit.close();
            try {
                if (orderly) {
                    leaveSets();
                    backend.close();
                } else {
                    sets.values().forEach(set -> set.data().abandon());
                }
            } finally {
                ended.complete(null);
            }
        }
    }

    /** All ranks have closed; what none of them has asked for together never runs. */
    private Plan leave(String why) {
        queue.close(new ShutdownException(why));
        Plan last = new OrderlyEnd(backend.control(), coordinator, unfinished, farewell).meet(() -> {
            if (failureIsNews()) {
                announce(List.of());
            }
        });
        if (!last.failure().isEmpty()) {
            giveUp(last.failure());
        }
        return last;
    }

    private void giveUp(String why) {
        if (givenUp.compareAndSet(false, true)) {
            onFailure.accept(why);
        }
    }

    /** @return why the job cannot go on */
    private String broken(Throwable cause) {
        String why = cause instanceof ShutdownException consequence
                ? consequence.words()
                : "rank " + rank + " (" + backend.topology().host() + "): the communication thread failed: " + cause;
        giveUp(why);
        return why;
    }

    private Plan cycleUntilTheEnd() {
        shortcut.begin();
        while (true) {
            recorder.cycle();
            if (shortcut.wasVetoed()) {
                negotiateAgain();
            }
            unfinished.look();
            takeIn();
            coordinator.decide();
            Plan plan = coordinator.next();
            if (plan != null) {
                carryOut(plan);
                if (plan.stop() || !plan.failure().isEmpty()) {
                    return plan;
                }
            } else if (!tookStep() && steps.rest()) {
                shortcut.sleep(backend.control(), nanosUntilDue(), coordinator);
            }
        }
    }

    private long nanosUntilDue() {
        long own = Math.min(Math.min(queue.nanosUntilDue(), steps.patienceNanos()), unfinished.nanosUntilDue());
        return Math.min(own, coordinator.nanosUntilDue());
    }

    /** What the program has submitted since goes to the coordinator, or into the static plan. */
    private void takeIn() {
        if (steps.follows()) {
            List<PendingOp> beside = steps.takeIn(closing);
            if (failureIsNews() || !beside.isEmpty()) {
                announce(beside);
            }
        } else if (queue.nanosUntilDue() == 0 || closing != closingAnnounced || failureIsNews()) {
            announce(queue.drainFresh());
        }
    }

    private boolean failureIsNews() {
        return !failure.isEmpty() && !failureAnnounced;
    }

    private void announce(List<PendingOp> ops) {
        // While a static plan holds, leaving it comes first; only a failure is told at once.
        closingAnnounced = closing && !steps.follows();
        failureAnnounced = !failure.isEmpty();
        ops.forEach(op -> op.announce(true));
        List<Wishes> wishes = new ArrayList<>();
        ops.stream()
                .filter(this::isOfRegisteredSet)
                .collect(Collectors.groupingBy(PendingOp::set, TreeMap::new, Collectors.toList()))
                .forEach((set, members) -> wishes.add(sets.get(set).wishes(members)));
        coordinator.announce(new Announcement(wishes, closingAnnounced, failure));
    }

    /** The program may have submitted an operation while its set was being taken away; that fails alone. */
    private boolean isOfRegisteredSet(PendingOp op) {
        boolean there = sets.containsKey(op.set());
        if (!there) {
            queue.takeIfPending(op.set(), op.name()).ifPresent(gone -> gone.fail(removed(gone.set())));
        }
        return there;
    }

    private static HvdException removed(int set) {
        return new HvdException(ErrorId.UNKNOWN_PROCESS_SET, "process set " + set + " has been removed");
    }

    private void ready(int set, Request request, int from) {
        // Where rank 0 takes no part, nothing of it is to be seen there.
        if (sets.containsKey(set) && !request.kind().isTransfer()) {
            recorder.ready(set, request.kind().toString(), request.name(), from);
        }
    }

    private void carryOut(Plan arrived) {
        SetMember set = sets.get(arrived.set());
        Plan plan = set.arrived(arrived, queue);
        if (!plan.failure().isEmpty()) {
            giveUp(plan.failure());
        }
        refuse(set, plan.batches().stream().filter(Batch::isRefusal).toList());
        plan.batches().forEach(batch -> execute(set, batch));
        if (!plan.lock().isEmpty()) {
            steps.begin(plan.lock());
        }
    }

    /** Takes the next step of the static plan; false if there is nothing to do yet. */
    private boolean tookStep() {
        boolean due = steps.isDue();
        if (due && !steps.next()) {
            negotiateAgain();
        }
        return due;
    }

    /** A rank has vetoed a step of the static plan. */
    private void negotiateAgain() {
        coordinator.unlock(steps.left());
        announce(queue.drainAll());
    }

    private void execute(SetMember set, Batch batch) {
        switch (batch.verdict()) {
            case RUN -> run(set, batch, takePart(set, batch));
            case RUN_IF_ASKED ->
                queue.takeIfPending(set.id(), batch.ops().get(0).name()).ifPresent(op -> run(set, batch, List.of(op)));
            default -> {
                // Said already, at the start of the plan.
            }
        }
    }

    /** This rank's operations; where it has joined, neutral ones that stand in for them. */
    private List<PendingOp> takePart(SetMember set, Batch batch) {
        List<PendingOp> ops = new ArrayList<>();
        for (int i = 0; i < batch.ops().size(); i++) {
            String name = batch.ops().get(i).name();
            Optional<PendingOp> own = queue.takeIfPending(set.id(), name);
            if (own.isEmpty() && batch.templates().isEmpty()) {
                throw new IllegalStateException("a plan names tensor \"" + name + "\", which is not pending here");
            }
            int place = i;
            ops.add(own.orElseGet(
                    () -> PendingOp.standIn(set.id(), batch.templates().get(place))));
        }
        return ops;
    }

    private void run(SetMember set, Batch batch, List<PendingOp> ops) {
        Execution execution = unfinished.begin(set, ops, batch);
        Optional<String> refusal = execution.refusal();
        if (refusal.isPresent()) {
            HvdException unsupported = new HvdException(
                    ErrorId.UNSUPPORTED,
                    ops.get(0).request().kind() + " of " + batch.names() + ": the back end " + backend.description()
                            + " cannot do it: " + refusal.get());
            ops.forEach(op -> op.fail(unsupported));
            return;
        }
        log.start(ops);
        List<Outcome> outcomes =
                switch (ops.get(0).request().kind()) {
                    case ADD_PROCESS_SET -> List.of(execution.guarded(() -> enterAgreed(batch, ops.get(0))));
                    case REMOVE_PROCESS_SET -> List.of(execution.guarded(() -> leaveAgreed(batch)));
                    default -> execution.run();
                };
        unfinished.settle(execution, outcomes);
    }

    /** All of them leave the queue before anybody hears of one, and submits the whole group again. */
    private void refuse(SetMember set, List<Batch> batches) {
        Map<PendingOp, HvdException> refused = new LinkedHashMap<>();
        for (Batch batch : batches) {
            if (batch.sizes().contains((long) set.self())) {
                HvdException refusal = refusal(batch);
                batch.names()
                        .forEach(name -> queue.takeIfPending(set.id(), name).ifPresent(op -> refused.put(op, refusal)));
            }
        }
        refused.forEach(PendingOp::fail);
    }

    private static HvdException refusal(Batch batch) {
        return switch (batch.verdict()) {
            case MISMATCH -> new RankMismatchException(batch.error());
            case TIMED_OUT -> new BarrierTimeoutException(batch.error());
            case RANK_GONE -> new ShutdownException(batch.error());
            default -> new HvdException(ErrorId.BAD_ARGUMENT, batch.error());
        };
    }

    private Outcome enterAgreed(Batch batch, PendingOp op) {
        int id = Math.toIntExact(batch.sizes().get(0));
        enter(id, op.request().splits().stream().map(Math::toIntExact).toList());
        return Outcome.of(id);
    }

    private void enter(int id, List<Integer> members) {
        if (members.contains(rank)) {
            sets.put(id, new SetMember(id, members, rank, backend.collectives(members), settings, log));
        }
    }

    private Outcome leaveAgreed(Batch batch) {
        int id = Math.toIntExact(batch.sizes().get(0));
        SetMember left = sets.remove(id);
        if (left != null) {
            queue.abandon(id, removed(id));
            left.data().close();
        }
        return Outcome.of(id);
    }

    private void leaveSets() {
        sets.values().stream()
                .filter(set -> set.id() != ALL)
                .forEach(set -> set.data().close());
    }
}
