package io.hvd.engine.loop;

import io.hvd.engine.execution.DeviceWork;
import io.hvd.engine.execution.ProcessSets;
import io.hvd.engine.message.Plan;
import io.hvd.engine.plan.PlanExit;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.error.ShutdownException;
import io.hvd.spi.Backend;

/**
 * The life of the communication thread: the {@link CommunicationLoop}, the {@link OrderlyEnd} with the other ranks, and
 * what is closed afterwards in any case.
 */
public final class CommunicationThread {
    private final Backend backend;
    private final TensorQueue queue;
    private final DeviceWork deviceWork;
    private final ProcessSets sets;
    private final CoordinatorLink coordinator;
    private final SettingsInForce settings;
    private final PlanExit exit;
    private final Departure departure;
    private final Announcer announcer;
    private final CommunicationLoop loop;

    public CommunicationThread(EngineParts parts) {
        this.backend = parts.backend();
        this.queue = parts.queue();
        this.deviceWork = parts.deviceWork();
        this.sets = parts.sets();
        this.coordinator = parts.coordinator();
        this.settings = parts.settings();
        this.exit = parts.exit();
        this.departure = parts.departure();
        this.announcer = new Announcer(parts);
        this.loop = new CommunicationLoop(parts, announcer);
    }

    /** Returns when the context is closed or the job has failed. */
    public void run() {
        String why = "this rank's context is closed";
        boolean orderly = false;
        try {
            Plan last = loop.untilTheEnd();
            if (last.stop()) {
                last = leave(why);
            }
            orderly = last.stop();
            why = orderly ? why : last.failure();
        } catch (Throwable e) {
            why = departure.broken(e);
        } finally {
            end(new ShutdownException(why), orderly);
        }
    }

    /** All ranks have closed. Operations that not all of their ranks have asked for never run. */
    private Plan leave(String why) {
        queue.close(new ShutdownException(why));
        Plan last =
                new OrderlyEnd(backend, coordinator, deviceWork, departure.farewell()).meet(announcer::announceFailure);
        if (!last.failure().isEmpty()) {
            departure.giveUp(last.failure());
        }
        return last;
    }

    private void end(ShutdownException cause, boolean orderly) {
        queue.close(cause);
        deviceWork.fail(cause);
        settings.close();
        exit.close();
        try {
            if (orderly) {
                sets.close();
                backend.close();
            } else {
                sets.abandon();
            }
        } finally {
            departure.end();
        }
    }
}
