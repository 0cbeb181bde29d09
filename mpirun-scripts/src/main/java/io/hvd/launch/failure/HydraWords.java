package io.hvd.launch.failure;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads along what Hydra, the launcher of MPICH and Intel MPI, says of the process that it saw failing first. It names the
 * number of the process, not of the rank, and says so on standard output. Any thread may call it.
 */
public final class HydraWords {

    private static final Pattern PROCESS = Pattern.compile("^= +PID (\\d{1,9}) RUNNING AT (\\S+)$");
    private static final Pattern CODE = Pattern.compile("^= +EXIT CODE: (\\d{1,9})$");
    private static final Pattern SIGNAL =
            Pattern.compile("^YOUR APPLICATION TERMINATED WITH THE EXIT STRING: .*\\(signal (\\d{1,2})\\)$");
    /** What a rank itself says, which has the number of the rank. */
    private static final Pattern ABORT = Pattern.compile(
            "^(?:\\[\\d+\\] )?application called MPI_Abort\\(.*, (-?\\d{1,9})\\) - process (\\d{1,9})$");

    private long pid;
    private String host = "";
    private int code = ObservedFailure.NO_CODE;
    private Optional<ObservedFailure> aborted = Optional.empty();

    /** Finds the rank of a process. */
    public interface Ranks {
        /** The rank, or {@link ObservedFailure#UNKNOWN_RANK}. */
        int of(String host, long pid);
    }

    /** Takes one line of either stream. */
    public synchronized void accept(String line) {
        Matcher process = PROCESS.matcher(line);
        if (host.isEmpty() && process.matches()) {
            pid = Long.parseLong(process.group(1));
            host = process.group(2);
        }
        Matcher ended = CODE.matcher(line);
        if (!host.isEmpty() && code == ObservedFailure.NO_CODE && ended.matches()) {
            code = Integer.parseInt(ended.group(1));
        }
        Matcher signal = SIGNAL.matcher(line);
        if (!host.isEmpty() && code < ObservedFailure.SIGNAL_BASE && signal.matches()) {
            code = ObservedFailure.SIGNAL_BASE + Integer.parseInt(signal.group(1));
        }
        Matcher abort = ABORT.matcher(line);
        if (aborted.isEmpty() && abort.matches()) {
            int exitCode = Integer.parseInt(abort.group(1));
            String rank = abort.group(2);
            aborted = Optional.of(new ObservedFailure(
                    Integer.parseInt(rank),
                    "",
                    exitCode,
                    "rank " + rank + " ended the job with exit code " + exitCode));
        }
    }

    /** The first failure; whoever aborts has often only noticed that another process was killed. */
    public synchronized Optional<ObservedFailure> firstFailure(Ranks ranks) {
        boolean killed = ObservedFailure.isSignal(code);
        return aborted.isPresent() && !killed || host.isEmpty() || code == ObservedFailure.NO_CODE
                ? aborted
                : Optional.of(seen(ranks.of(host, pid), killed));
    }

    private ObservedFailure seen(int rank, boolean killed) {
        String who = (rank == ObservedFailure.UNKNOWN_RANK ? "a process that had not joined the job" : "rank " + rank)
                + " on " + host + ", pid " + pid + ", ";
        String end =
                killed ? "was ended by signal " + (code - ObservedFailure.SIGNAL_BASE) : "ended with exit code " + code;
        return new ObservedFailure(rank, host, code, who + end);
    }
}
