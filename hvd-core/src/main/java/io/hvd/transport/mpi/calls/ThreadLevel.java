package io.hvd.transport.mpi.calls;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/** The levels of MPI_Init_thread, from the lowest to the highest: which threads may call MPI. */
public enum ThreadLevel {
    SINGLE,
    FUNNELED,
    SERIALIZED,
    MULTIPLE;

    /**
     * The level that hvd asks for: one thread makes all calls, beside the user's threads; {@code
     * HOROVOD_MPI_THREADS_DISABLE} asks for less.
     */
    public static ThreadLevel wantedBy(HvdConfig config) {
        return config.mpi().singleThreaded() ? SINGLE : FUNNELED;
    }

    /**
     * Refuses an MPI that other code has initialised in a way that does not suffice.
     *
     * @param mainThread whether the calling thread is the one that initialised MPI
     */
    public static void require(ThreadLevel wanted, ThreadLevel provided, boolean mainThread) {
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
