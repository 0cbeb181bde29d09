package io.hvd.job.failure;

import io.hvd.config.HvdConfig;
import io.hvd.monitor.view.HangReport;
import io.hvd.spi.Topology;

/**
 * Handles the failure of a rank's job. The failure itself is a value by then: the engine completes every
 * pending operation with it, and so every later one. What happens to the process is the choice of one of these: {@link EndProcess} ends
 * it, as a launcher expects, {@link ThrowToProgram} leaves it to the program. A policy that goes on with the ranks that are
 * left would be a third.
 */
public interface FailureHandler {
    /** Init is about to throw. */
    void notJoined(HvdConfig config, Throwable cause);

    /** This rank knows its place among the others; told on the communication thread. */
    void placed(Topology topology);

    /** This rank has joined. */
    void joined(JobMember member);

    /** Whether the process goes on after a failure, and wants back what the failed job has held. */
    boolean goesOn();

    /** The job cannot go on; told once. */
    void failed(JobMember member, String why);

    /** This rank has found a hang and is about to tell the others; told on a thread of the monitor. */
    void hangFound(JobMember member, HangReport hang);

    /** A hang has been reported; told once, on a thread of the monitor. */
    void hung(JobMember member, HangReport hang);

    /** MPI_Finalize does not return although every rank has called it; the rank goes on without. */
    void heldUp(JobMember member, long millis);
}
