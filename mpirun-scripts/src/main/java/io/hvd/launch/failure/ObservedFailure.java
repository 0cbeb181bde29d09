package io.hvd.launch.failure;

/**
 * A failure as mpirun, or the launcher itself, has seen it.
 *
 * @param rank whose process it was, or {@link #NO_RANK}
 * @param host the host on which it ran; empty if mpirun does not say so
 * @param exitCode the exit code that the job has from it, or {@link #NO_CODE}
 * @param words what happened, with rank and host as far as they are known
 */
public record ObservedFailure(int rank, String host, int exitCode, String words) {

    /** It was a host, or mpirun itself. */
    public static final int NO_RANK = -1;

    public static final int NO_CODE = -1;

    /** A process that was ended by a signal has this much and the signal's number. */
    public static final int SIGNAL_BASE = 128;

    private static final int LAST_SIGNAL = 64;

    public static ObservedFailure mpirunEnded(int exitCode) {
        return new ObservedFailure(
                NO_RANK,
                "",
                exitCode,
                "mpirun itself was ended by signal " + (exitCode - SIGNAL_BASE) + "; horovodrun has ended its ranks");
    }

    /** Open MPI has exit codes of its own beyond all signals. */
    public static boolean isSignal(int exitCode) {
        return exitCode > SIGNAL_BASE && exitCode <= SIGNAL_BASE + LAST_SIGNAL;
    }

    boolean isMpirun() {
        return rank == NO_RANK && bySignal();
    }

    public boolean bySignal() {
        return isSignal(exitCode);
    }
}
