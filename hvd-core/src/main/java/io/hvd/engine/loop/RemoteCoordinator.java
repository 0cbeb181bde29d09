package io.hvd.engine.loop;

import io.hvd.engine.message.Announcement;
import io.hvd.engine.message.LeftPlan;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.PlanCodec;
import io.hvd.engine.message.Tuning;
import io.hvd.spi.ControlChannel;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;

/** The link of every rank except rank 0. */
final class RemoteCoordinator implements CoordinatorLink {
    private final ControlChannel control;
    private final List<String> hosts;
    private final Queue<Plan> plans = new ArrayDeque<>();

    /** @param hosts the host of each rank */
    RemoteCoordinator(ControlChannel control, List<String> hosts) {
        this.control = control;
        this.hosts = hosts;
    }

    @Override
    public void announce(Announcement announcement) {
        control.send(0, PlanCodec.encode(announcement));
    }

    @Override
    public void message(int fromRank, ByteBuffer message) {
        plans.add(PlanCodec.decodePlan(message));
    }

    @Override
    public void lost(int rank, String why) {
        plans.add(Plan.failed("rank " + rank + " is gone: " + why + " (host " + hosts.get(rank) + ")"));
    }

    @Override
    public Plan next() {
        return plans.poll();
    }

    @Override
    public void decide() {}

    @Override
    public void listened() {}

    @Override
    public long nanosUntilDue() {
        return Long.MAX_VALUE;
    }

    @Override
    public void tune(Tuning tuning) {}

    @Override
    public void unlock(LeftPlan left) {}
}
