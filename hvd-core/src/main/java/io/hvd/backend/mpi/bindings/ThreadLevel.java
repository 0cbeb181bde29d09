package io.hvd.backend.mpi.bindings;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/** How far MPI lets threads call it, from little to much, as MPI_Init_thread knows it. */
enum ThreadLevel {
    SINGLE,
    FUNNELED,
    SERIALIZED,
    MULTIPLE;

    /** One thread makes all calls, beside the user's; {@code HOROVOD_MPI_THREADS_DISABLE} asks for less. */
    static ThreadLevel wantedBy(HvdConfig config) {
        return config.mpiThreadsDisabled() ? SINGLE : FUNNELED;
    }

    /**
     * Refuses an MPI that somebody else has initialised in a way that does not do.
     *
     * @param mainThread whether the calling thread is the one that initialised MPI
     */
    static void require(ThreadLevel wanted, ThreadLevel provided, boolean mainThread) {
        if (provided.compareTo(wanted) < 0 || !mainThread) {
            throw new HvdException(
                    ErrorId.MPI_LEVEL,
                    "MPI was initialised before hvd, or offers too little: thread level " + provided
                            + (mainThread ? "" : " on another thread") + ", hvd needs " + wanted
                            + " on its own communication thread. Call Hvd.init() first");
        }
    }

    /** MPI's own name. */
    @Override
    public String toString() {
        return "MPI_THREAD_" + name();
    }
}
