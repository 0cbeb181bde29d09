package io.hvd.engine.loop;

import io.hvd.engine.execution.DeviceWork;
import io.hvd.engine.message.Announcement;
import io.hvd.engine.message.Plan;
import io.hvd.spi.Backend;
import io.hvd.spi.ControlChannel;
import java.util.concurrent.CompletableFuture;

/**
 * The end of a job after all ranks have closed: each rank finishes the work that it has left, and goes when all others
 * have done so as well. Meanwhile the communication thread receives messages, so that the ranks do not wait for one
 * that dies then.
 */
final class OrderlyEnd {
    private final Backend backend;
    private final ControlChannel control;
    private final CoordinatorLink coordinator;
    private final DeviceWork deviceWork;
    private final Runnable farewell;
    /** Null until the farewell has begun. */
    private CompletableFuture<Void> leaving;

    private boolean done;

    /**
     * @param deviceWork the work that devices have not finished yet
     * @param farewell runs after that on a thread of its own, and may wait for other ranks
     */
    OrderlyEnd(Backend backend, CoordinatorLink coordinator, DeviceWork deviceWork, Runnable farewell) {
        this.backend = backend;
        this.control = backend.control();
        this.coordinator = coordinator;
        this.deviceWork = deviceWork;
        this.farewell = farewell;
    }

    /**
     * Returns when all ranks may go, or one of them has failed.
     *
     * @param tellFailure tells the coordinator if this rank has failed meanwhile
     * @return the plan that says which of the two has happened
     */
    Plan meet(Runnable tellFailure) {
        while (true) {
            tellFailure.run();
            deviceWork.look();
            tellWhenDone();
            coordinator.decide();
            Plan plan = coordinator.next();
            if (plan != null && (plan.stop() || !plan.failure().isEmpty())) {
                return plan;
            }
            if (plan == null) {
                long due = Math.min(deviceWork.nanosUntilDue(), coordinator.nanosUntilDue());
                control.receive(Math.min(due, backend.progress().make()), coordinator);
            }
        }
    }

    private void tellWhenDone() {
        if (leaving == null && deviceWork.isEmpty()) {
            leaving = CompletableFuture.runAsync(farewell, OrderlyEnd::start);
            leaving.whenComplete((nothing, error) -> control.wakeUp());
        }
        if (leaving != null && leaving.isDone() && !done) {
            leaving.join();
            coordinator.announce(Announcement.ofTheEnd());
            done = true;
        }
    }

    private static void start(Runnable task) {
        Thread thread = new Thread(task, "hvd-engine-farewell");
        thread.setDaemon(true);
        thread.start();
    }
}
