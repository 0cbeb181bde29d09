package io.hvd.engine.loop;

import io.hvd.engine.execution.DeviceWork;
import io.hvd.engine.execution.PlanRun;
import io.hvd.engine.execution.ProcessSets;
import io.hvd.engine.execution.SetMember;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Tuning;
import io.hvd.engine.plan.CallerRuns;
import io.hvd.engine.plan.HeldPlan;
import io.hvd.engine.plan.StepFollower;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.trace.FlightRecorder;
import java.util.List;

/**
 * The work of the communication thread, one per rank: it drains the operations that this rank has submitted, announces
 * them to rank 0, receives rank 0's plan and carries it out. Only this thread talks to the back end, except for
 * steps that a waiting thread carries out itself ({@link CallerRuns}).
 */
final class CommunicationLoop {
    private final FlightRecorder recorder;
    private final TensorQueue queue;
    private final DeviceWork deviceWork;
    private final ProcessSets sets;
    private final PlanRun run;
    private final CoordinatorLink coordinator;
    private final Announcer announcer;
    private final Departure departure;
    private final SettingsInForce settings;
    private final HeldPlan plan;
    private final StepFollower steps;
    private final CallerRuns callerRuns;
    private final Sleep sleep;

    CommunicationLoop(EngineParts parts, Announcer announcer) {
        this.recorder = parts.recorder();
        this.queue = parts.queue();
        this.deviceWork = parts.deviceWork();
        this.sets = parts.sets();
        this.run = parts.run();
        this.coordinator = parts.coordinator();
        this.announcer = announcer;
        this.departure = parts.departure();
        this.settings = parts.settings();
        this.plan = parts.plan();
        this.steps = parts.steps();
        this.callerRuns = parts.callerRuns();
        this.sleep = parts.sleep();
    }

    /** @return the plan with which all ranks stop, or that says why the job cannot go on */
    Plan untilTheEnd() {
        sleep.begin();
        while (true) {
            recorder.cycle();
            passTuningOn();
            if (callerRuns.wasVetoed()) {
                negotiateAgain();
            }
            deviceWork.look();
            takeIn();
            coordinator.decide();
            Plan decided = coordinator.next();
            if (decided != null) {
                carryOut(decided);
                if (decided.stop() || !decided.failure().isEmpty()) {
                    return decided;
                }
            } else if (!tookStep() && steps.rest()) {
                sleep.sleep(nanosUntilDue(), steps.lookNanos(), coordinator);
            }
        }
    }

    private long nanosUntilDue() {
        long own = Math.min(Math.min(queue.nanosUntilDue(), steps.patienceNanos()), deviceWork.nanosUntilDue());
        return Math.min(own, coordinator.nanosUntilDue());
    }

    /**
     * Sends the operations that the program has submitted since to the coordinator, or takes them into the static plan.
     */
    private void takeIn() {
        if (plan.holds()) {
            List<PendingOp> beside = steps.takeIn(departure.isClosing());
            if (departure.isFailureNews() || !beside.isEmpty()) {
                announcer.announce(beside);
            }
        } else if (queue.nanosUntilDue() == 0 || departure.isClosingNews() || departure.isFailureNews()) {
            announcer.announce(queue.drainFresh());
        }
    }

    /** Tells the coordinator which settings all ranks are to have. */
    private void passTuningOn() {
        Tuning wish = settings.takeWish();
        if (wish != null) {
            coordinator.tune(wish);
        }
    }

    private void carryOut(Plan arrived) {
        SetMember set = sets.get(arrived.set());
        Plan decided = set.arrived(arrived, queue);
        if (!decided.failure().isEmpty()) {
            departure.giveUp(decided.failure());
        }
        decided.tuning().ifPresent(settings::apply);
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
        announcer.announce(queue.drainAll());
    }
}
