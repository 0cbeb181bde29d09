package io.hvd.engine.loop;

import io.hvd.engine.execution.ProcessSets;
import io.hvd.engine.message.Announcement.Wishes;
import io.hvd.engine.plan.HeldPlan;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.TensorQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Tells the coordinator what this rank asks for. Only the communication thread calls it. */
final class Announcer {
    private final ProcessSets sets;
    private final TensorQueue queue;
    private final HeldPlan plan;
    private final Departure departure;
    private final CoordinatorLink coordinator;

    Announcer(EngineParts parts) {
        this.sets = parts.sets();
        this.queue = parts.queue();
        this.plan = parts.plan();
        this.departure = parts.departure();
        this.coordinator = parts.coordinator();
    }

    void announce(List<PendingOp> ops) {
        ops.forEach(op -> op.announce(true));
        List<Wishes> wishes = new ArrayList<>();
        ops.stream()
                .filter(this::isOfRegisteredSet)
                .collect(Collectors.groupingBy(PendingOp::set, TreeMap::new, Collectors.toList()))
                .forEach((set, members) -> wishes.add(sets.get(set).wishes(members)));
        coordinator.announce(departure.announce(wishes, plan.holds()));
    }

    /** Tells the coordinator that this rank has failed, unless it knows already. */
    void announceFailure() {
        if (departure.isFailureNews()) {
            announce(List.of());
        }
    }

    /** The program may submit an operation while its process set is being removed; only that operation fails. */
    private boolean isOfRegisteredSet(PendingOp op) {
        boolean there = sets.contains(op.set());
        if (!there) {
            queue.takeIfPending(op.set(), op.name()).ifPresent(gone -> gone.fail(ProcessSets.removed(gone.set())));
        }
        return there;
    }
}
