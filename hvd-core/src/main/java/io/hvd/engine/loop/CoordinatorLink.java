package io.hvd.engine.loop;

import io.hvd.engine.message.Announcement;
import io.hvd.engine.message.LeftPlan;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Tuning;
import io.hvd.spi.ControlChannel;

/**
 * This rank's connection to the coordinator, which is on rank 0: announcements go there and plans come back. Only the
 * communication thread uses it; the inbox receives messages while that thread sleeps.
 */
interface CoordinatorLink extends ControlChannel.Inbox {

    /** Sends this rank's requests to the coordinator. */
    void announce(Announcement announcement);

    /** Lets the coordinator decide what can be decided now, if it is on this rank. */
    void decide();

    /** Records that this thread has received all messages until now. */
    void listened();

    /** The next plan for this rank to carry out; null if there is none yet. */
    Plan next();

    /** Nanoseconds until {@link #decide} has something to decide without a new announcement. */
    long nanosUntilDue();

    /** All ranks are to have other settings. */
    void tune(Tuning tuning);

    /** All ranks have left the static plan. */
    void unlock(LeftPlan left);
}
