package io.hvd.engine;

import io.hvd.config.AutotuneSettings;
import io.hvd.config.EngineSettings;
import io.hvd.config.Processors;
import io.hvd.engine.Announcement.Wishes;
import io.hvd.error.ShutdownException;
import io.hvd.spi.Backend;
import io.hvd.spi.Topology;
import io.hvd.trace.FlightRecorder;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * The work of the communication thread, one per rank: it drains the operations that this rank has submitted, announces
 * them to rank 0, receives rank 0's plan and carries it out. Only this thread talks to the {@link Backend}, except for
 * steps that a waiting thread carries out itself ({@link Shortcut}).
 */
final class CommunicationLoop {
    private final Backend backend;
    private final EngineSettings settings;
    private final int rank;
    private final TensorQueue queue;
    private final CoordinatorLine coordinator;
    private final Bell bell;

    private final FlightRecorder recorder;
    private final Consumer<String> onFailure;
    private final ProcessSets sets;
    private final PlanExit exit;
    private final HeldPlan plan;
    private final StepFollower steps;
    private final Shortcut shortcut;
    private final Unfinished unfinished;
    private final PlanRun run;
    /** On rank 0 if settings are tuned, else null. */
    private final Autotuner tuner;
    /** What was tuned last; any thread may read it. */
    private volatile Tuning tuning;

    private volatile boolean optimizersRegroup;

    private final StepStudy study;
    /** Whether batches of tensors in the host's memory keep the program from computing meanwhile. */
    private final boolean takesCores;

    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private final AtomicBoolean givenUp = new AtomicBoolean();

    private volatile boolean closing;
    private volatile Runnable farewell = () -> {};
    private volatile String failure = "";
    private boolean closingAnnounced;
    private boolean failureAnnounced;

    /**
     * The other parameters are those of {@link Engine}'s constructor.
     *
     * @param queue the one that program threads fill
     * @param bell the one that program threads ring
     * @param programWaits whether a program thread waits for a result
     */
    CommunicationLoop(
            Backend backend,
            List<List<Integer>> processSets,
            EngineSettings settings,
            AutotuneSettings autotune,
            FlightRecorder recorder,
            Consumer<String> onFailure,
            TensorQueue queue,
            Bell bell,
            BooleanSupplier programWaits) {
        this.backend = backend;
        this.bell = bell;
        this.settings = settings;
        this.rank = backend.topology().rank();
        this.queue = queue;
        this.unfinished = new Unfinished(this::broken, programWaits);
        int size = backend.topology().size();
        this.coordinator = line(size, processSets);
        this.recorder = recorder;
        this.onFailure = onFailure;
        DataLog log = new DataLog(recorder);
        this.sets = new ProcessSets(backend, settings, log, queue);
        boolean plans = settings.staticPlanSteps() > 0 && !settings.strict();
        this.exit = PlanExit.open(backend, plans, bell::ring);
        this.takesCores = takesCoresFromProgram();
        this.study = rank == 0 ? new StepStudy(settings, takesCores) : null;
        this.tuning = new Tuning(Tunable.of(settings), "");
        this.tuner = autotune.enabled() && rank == 0 && size > 1
                ? new Autotuner(
                        autotune,
                        settings,
                        study,
                        new Autotuner.Job(
                                localSize(backend.topology()),
                                sets.all().data().levels().obstacle(),
                                () -> optimizersRegroup))
                : null;
        this.run = new PlanRun(backend, sets, queue, log, unfinished, tuner);
        this.plan = new HeldPlan(queue, exit, new PromptWaits(hasFewerCoresForEachRank(1)), study);
        Turn turn = new Turn();
        this.steps = new StepFollower(turn, sets.all(), plan, queue, log, unfinished, study, tuner);
        this.shortcut = new Shortcut(bell, backend.progress()::make, turn, plan, steps);
        if (settings.levels() == 1) {
            sets.all().data().levels().choose(false);
        }
        for (int i = 0; i < processSets.size(); i++) {
            sets.enter(i + 1, processSets.get(i));
        }
    }

    /** The static plan, for program threads. */
    HeldPlan plan() {
        return plan;
    }

    private static int localSize(Topology topology) {
        return topology.homogeneous() ? topology.localSize() : 1;
    }

    /** See {@link Engine#stepsTravelLate}; any thread. */
    boolean stepsTravelLate() {
        return takesCores && plan.hasHeld();
    }

    /** What was tuned last; any thread. */
    Tuning tuning() {
        return tuning;
    }

    /** See {@link Engine#bucketBytes}; any thread. */
    long bucketBytes(boolean regroups) {
        if (regroups && !optimizersRegroup) {
            optimizersRegroup = true;
        }
        return tuning.settings().bucketBytes();
    }

    /** The shortcut, for program threads that wait. */
    Shortcut shortcut() {
        return shortcut;
    }

    /**
     * Whether the data plane competes with the program for cores: all ranks run on one host, with fewer than two cores
     * each.
     */
    private boolean takesCoresFromProgram() {
        return backend.topology().localSize() == backend.topology().size() && hasFewerCoresForEachRank(2);
    }

    private boolean hasFewerCoresForEachRank(int cores) {
        int ranks = backend.topology().localSize();
        return cores * ranks > Processors.ofThisProcess(ranks).ofAll(ranks);
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

    /** See {@link Engine#close(Runnable)}; any thread. */
    void close(Runnable last) {
        farewell = last;
        closing = true;
        bell.ring();
        ended.join();
    }

    /** See {@link Engine#fail}; any thread. */
    boolean fail(String why, long limitMillis) {
        failure = why;
        plan.leave();
        bell.ring();
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

    /** See {@link Engine#run}. */
    void run() {
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
            if (tuner != null) {
                tuner.close();
            }
            exit.close();
            try {
                if (orderly) {
                    sets.close();
                    backend.close();
                } else {
                    sets.abandon();
                }
            } finally {
                ended.complete(null);
            }
        }
    }

    /** All ranks have closed. Operations that not all of their ranks have asked for never run. */
    private Plan leave(String why) {
        queue.close(new ShutdownException(why));
        Plan last = new OrderlyEnd(backend, coordinator, unfinished, farewell).meet(() -> {
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
            passTuningOn();
            if (shortcut.wasVetoed()) {
                negotiateAgain();
            }
            unfinished.look();
            takeIn();
            coordinator.decide();
            Plan decided = coordinator.next();
            if (decided != null) {
                carryOut(decided);
                if (decided.stop() || !decided.failure().isEmpty()) {
                    return decided;
                }
            } else if (!tookStep() && steps.rest()) {
                shortcut.sleep(nanosUntilDue(), steps.lookNanos(), coordinator);
            }
        }
    }

    private long nanosUntilDue() {
        long own = Math.min(Math.min(queue.nanosUntilDue(), steps.patienceNanos()), unfinished.nanosUntilDue());
        return Math.min(own, coordinator.nanosUntilDue());
    }

    /**
     * Sends the operations that the program has submitted since to the coordinator, or takes them into the static plan.
     */
    private void takeIn() {
        if (plan.holds()) {
            List<PendingOp> beside = steps.takeIn(closing);
            if (failureIsNews() || !beside.isEmpty()) {
                announce(beside);
            }
        } else if (queue.nanosUntilDue() == 0 || closing != closingAnnounced || failureIsNews()) {
            announce(queue.drainFresh());
        }
    }

    /** Tells the coordinator which settings all ranks are to have. */
    private void passTuningOn() {
        Tuning wish = tuner == null ? null : tuner.takeWish();
        if (wish != null) {
            coordinator.tune(wish);
        }
    }

    private void tune(Tuning arrived) {
        Tunable before = tuning.settings();
        Tunable now = arrived.settings();
        tuning = arrived;
        queue.tune(Math.max(1, now.fusionThresholdBytes()), now.cycleNanos());
        if (now.levels() != before.levels()) {
            sets.all().data().levels().choose(now.levels() == 2);
        }
        if (study != null) {
            study.tune(now);
        }
        if (tuner != null) {
            tuner.applied(arrived);
        }
    }

    private boolean failureIsNews() {
        return !failure.isEmpty() && !failureAnnounced;
    }

    private void announce(List<PendingOp> ops) {
        // While a static plan holds, the rank leaves it before it announces that it closes; a failure is announced at
        // once.
        closingAnnounced = closing && !plan.holds();
        failureAnnounced = !failure.isEmpty();
        ops.forEach(op -> op.announce(true));
        List<Wishes> wishes = new ArrayList<>();
        ops.stream()
                .filter(this::isOfRegisteredSet)
                .collect(Collectors.groupingBy(PendingOp::set, TreeMap::new, Collectors.toList()))
                .forEach((set, members) -> wishes.add(sets.get(set).wishes(members)));
        coordinator.announce(new Announcement(wishes, closingAnnounced, failure));
    }

    /** The program may submit an operation while its process set is being removed; only that operation fails. */
    private boolean isOfRegisteredSet(PendingOp op) {
        boolean there = sets.contains(op.set());
        if (!there) {
            queue.takeIfPending(op.set(), op.name()).ifPresent(gone -> gone.fail(ProcessSets.removed(gone.set())));
        }
        return there;
    }

    private void ready(int set, Request request, int from) {
        // Rank 0 records operations of its own sets only, and no transfers, which may be between two other ranks.
        if (sets.contains(set) && !(request instanceof Moving.Transfer)) {
            recorder.ready(set, request.kind().toString(), request.name(), from);
        }
    }

    private void carryOut(Plan arrived) {
        SetMember set = sets.get(arrived.set());
        Plan decided = set.arrived(arrived, queue);
        if (!decided.failure().isEmpty()) {
            giveUp(decided.failure());
        }
        decided.tuning().ifPresent(this::tune);
        run.carryOut(set, decided.batches());
        if (!decided.lock().isEmpty()) {
            steps.begin(decided.lock());
        }
    }

    /**
     * Carries out or vetoes the next batch of the static plan, and negotiates again after a veto; returns false if there is
     * nothing to do in the data plane.
     */
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
}
