package io.hvd;

/** The fate of a rank's process when its job cannot go on. Either way the calls that wait throw the cause. */
public enum FailurePolicy {
    /**
     * The process says why and ends, as launchers expect: otherwise the job would wait for it. An exception that nobody
     * catches, and an exit before the context is closed, end the job too. A rank that is alone and has no launcher is
     * left to the program.
     */
    END_PROCESS,
    /**
     * The failure is left to the program, which a server, a notebook or a task of a cluster is. hvd installs no handler and
     * no hook and never ends the process. The program has to leave its last job by {@link HvdContext#close()}: after {@link
     * Hvd#shutdown()} nothing ends MPI. While hvd's thread is inside a call of MPI, no waiting call throws until that call
     * returns. Ranks that are threads of a job that a launcher has started always end their processes; {@link Hvd#spawn}
     * refuses this policy there.
     */
    THROW
}
