package io.hvd.engine;

import io.hvd.spi.ControlChannel;
import java.util.List;
import java.util.Optional;

/**
 * This rank's way to the coordinator, which is on rank 0: announcements go there and plans come back. Communication
 * thread; the inbox hears while it sleeps.
 */
interface CoordinatorLine extends ControlChannel.Inbox {

    /** What this rank wants goes to the coordinator. */
    void announce(Announcement announcement);

    /** Has the coordinator decide what can be decided now, where it is here. */
    void decide();

    /** The next plan that this rank carries out; null if there is none yet. */
    Plan next();

    /** Nanoseconds until {@link #decide} has something to decide without a new announcement. */
    long nanosUntilDue();

    /**
     * All ranks have left the static plan.
     *
     * @param cut the batches for the next one of the same operations; empty to find them anew
     */
    void unlock(Optional<List<List<String>>> cut);
}
