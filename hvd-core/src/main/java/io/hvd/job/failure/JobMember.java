package io.hvd.job.failure;

import io.hvd.config.HvdConfig;
import io.hvd.monitor.Monitor;
import io.hvd.spi.Topology;
import io.hvd.transport.mpi.openmpi.MpiFinalization;
import java.util.Optional;

/** A rank's place in a job, as those see it who deal with the job's failure or end. Any thread may use it. */
public interface JobMember {
    /** The settings with which this rank has joined. */
    HvdConfig config();

    Topology topology();

    boolean isOpen();

    /** Whether neither another rank nor a launcher has to hear of this rank's end. */
    boolean isAlone();

    /** Why the job cannot go on; empty as long as it can. */
    String failure();

    /** Waits a moment for a failure that is to be expected, because the engine may be about to hear of it. */
    String awaitFailure();

    /**
     * Whether threads that have waited for a result are about to throw, each with more to say than the failure itself.
     */
    boolean threadsSpeak();

    /** The monitor, which watches the processes of the other ranks. */
    Monitor monitor();

    /** Tells the other ranks why this one cannot go on; they need not wait for it. Calls that wait on this rank throw. */
    void fail(String why, long limitMillis);

    /**
     * Gives up the job on this rank: no call waits for another rank any longer, and where the ranks are threads, none
     * waits for this one.
     */
    void abandon(String why);

    /** Ends MPI, unless the job has failed. */
    void finish();

    /** The end of MPI, and what has become of it; empty if the job is not over MPI. */
    Optional<MpiFinalization> finalization();
}
