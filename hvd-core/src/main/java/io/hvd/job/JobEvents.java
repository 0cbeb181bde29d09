package io.hvd.job;

import io.hvd.monitor.view.HangReport;
import io.hvd.spi.Topology;

/** Hears how it goes with the job, on behalf of one rank. */
interface JobEvents {
    /** This rank knows its place among the others; told on the communication thread. */
    default void placed(Topology topology) {}

    /** The job cannot go on; told once. */
    void failed(Membership member, String why);

    /** This rank has found a hang and is about to tell the others, which end then; told on a thread of the monitor. */
    default void hangFound(Membership member, HangReport hang) {}

    /** MPI_Finalize does not return although every rank has called it; the rank goes on without. */
    default void heldUp(Membership member, long millis) {}

    /** A hang has been reported; told once, on a thread of the monitor. */
    void hung(Membership member, HangReport hang);
}
