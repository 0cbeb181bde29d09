package io.hvd.engine.loop;

import io.hvd.engine.coordination.Coordinator;
import io.hvd.engine.message.Announcement;
import io.hvd.engine.message.LeftPlan;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.PlanCodec;
import io.hvd.engine.message.Tuning;
import io.hvd.log.HvdLogger;
import io.hvd.spi.ControlChannel;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;

/**
 * Rank 0's link, with the coordinator itself: it receives the announcements of all ranks and sends every plan to its
 * members.
 */
final class LocalCoordinator implements CoordinatorLink {
    private static final HvdLogger LOG = HvdLogger.of(LocalCoordinator.class);
    private static final int ALL = 0;

    private final Coordinator coordinator;
    private final ControlChannel control;
    private final List<String> hosts;
    private final Queue<Plan> plans = new ArrayDeque<>();
    /** The time until which this thread has received every message as it came. */
    private long listenedNanos = System.nanoTime();

    /** @param hosts the host of each rank */
    LocalCoordinator(Coordinator coordinator, ControlChannel control, List<String> hosts) {
        this.coordinator = coordinator;
        this.control = control;
        this.hosts = hosts;
    }

    @Override
    public void announce(Announcement announcement) {
        coordinator.announce(0, announcement, System.nanoTime());
    }

    @Override
    public void message(int fromRank, ByteBuffer message) {
        coordinator.announce(fromRank, PlanCodec.decodeAnnouncement(message), System.nanoTime());
    }

    @Override
    public void lost(int rank, String why) {
        coordinator.lose(rank, why + " (host " + hosts.get(rank) + ")");
    }

    @Override
    public void decide() {
        // Plans pile up only while earlier ones are being sent, so that decisions can wait as well.
        if (plans.isEmpty()) {
            long now = System.nanoTime();
            if (coordinator.nanosUntilDue(now) == 0) {
                hearBeforeGivingUp(now);
            }
            coordinator.next(now).forEach(this::publish);
            coordinator.warning().ifPresent(LOG::warn);
        }
    }

    /**
     * Receives what has arrived when a limit has passed, before the ranks give up, so that a rank that has come counts
     * although its message is read only now. The time that this thread has spent
     * in the data plane, where it receives no messages, does not count for a limit: the other ranks were there as well.
     */
    private void hearBeforeGivingUp(long now) {
        control.receive(0, this);
        coordinator.postpone(listenedNanos, now);
    }

    @Override
    public void listened() {
        listenedNanos = System.nanoTime();
    }

    private void publish(Plan plan) {
        List<Integer> members = coordinator.members(plan.failure().isEmpty() ? plan.set() : ALL);
        if (members.size() > 1 || members.get(0) != 0) {
            ByteBuffer message = PlanCodec.encode(plan);
            members.stream().filter(member -> member != 0).forEach(member -> control.send(member, message.duplicate()));
        }
        if (members.contains(0)) {
            plans.add(plan);
        }
    }

    /**
     * Gives out a plan only when all messages to the other ranks have been sent: inside a collective this thread could not
     * send, and the others would never come.
     */
    @Override
    public Plan next() {
        return control.isFlushed() ? plans.poll() : null;
    }

    @Override
    public long nanosUntilDue() {
        return coordinator.nanosUntilDue(System.nanoTime());
    }

    @Override
    public void tune(Tuning tuning) {
        coordinator.tune(tuning);
    }

    @Override
    public void unlock(LeftPlan left) {
        coordinator.unlock(ALL, left);
    }
}
