package io.hvd.engine;

import io.hvd.spi.ControlChannel;

/**
 * This rank's way to the coordinator, which is on rank 0: announcements go there and plans come back. Communication
 * thread; the inbox hears while it sleeps.
 */
interface CoordinatorLine extends ControlChannel.Inbox {

    /** What this rank wants goes to the coordinator. */
    void announce(Announcement announcement);

    /** Has the coordinator decide what can be decided now, where it is here. */
    void decide();

    /** This thread has heard until now whatever has come. */
    void listened();

    /** The next plan that this rank carries out; null if there is none yet. */
    Plan next();

    /** Nanoseconds until {@link #decide} has something to decide without a new announcement. */
    long nanosUntilDue();

    /** All ranks have left the static plan. */
    void unlock(LeftPlan left);
}
