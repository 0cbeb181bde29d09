package io.hvd.launch.process;

import io.hvd.launch.failure.ObservedFailure;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;

/**
 * Tells when mpirun takes no notice of the end of its ranks: all its children have ended and stay there as zombies, or it
 * has none any more and stays although all ranks have said that they end well. A
 * stranger at one of mpirun's own ports can keep it so busy with waiting that it does nothing else any more. Where mpirun
 * has connections to other hosts, those are children that live, and this says nothing.
 */
final class UnnoticedEnds {
    /** A sound mpirun takes a few milliseconds. */
    private static final long PATIENCE_NANOS = 5_000_000_000L;

    /** In /proc/PID/syscall: write or writev, of x86-64 or of ARM, to standard output or error. */
    private static final Pattern WRITES = Pattern.compile("(1|20|64|66) 0x[12] ");

    /** No process has this number. */
    private static final List<Long> NOT_ALL = List.of(-1L);

    private static final char ZOMBIE = 'Z';
    /** Counted after the closing parenthesis of the command, in proc(5) fields 3 and 52. */
    private static final int STATE = 0;

    private static final int EXIT_STATUS = 49;
    private static final int SIGNAL_BITS = 0x7f;

    private final Path proc;
    private final long mpirun;
    private final long patienceNanos;
    private final BooleanSupplier allEndWell;
    /** Whether mpirun has had children. */
    private boolean hasStarted;
    /** Processes that had all ended at the last look; {@link #sinceNanos} says since when. */
    private List<Long> ended = NOT_ALL;

    private long sinceNanos;

    /** @param allEndWell whether the ranks of all hosts have said so */
    UnnoticedEnds(long mpirun, BooleanSupplier allEndWell) {
        this(Path.of("/proc"), mpirun, PATIENCE_NANOS, allEndWell);
    }

    UnnoticedEnds(Path proc, long mpirun, long patienceNanos, BooleanSupplier allEndWell) {
        this.allEndWell = allEndWell;
        this.proc = proc;
        this.mpirun = mpirun;
        this.patienceNanos = patienceNanos;
    }

    /**
     * To be called again and again while mpirun lives.
     *
     * @return the exit code of the first rank that has one other than zero, or zero; empty as long as nothing is wrong
     */
    OptionalInt look(long nowNanos) {
        List<Long> now = new ArrayList<>();
        int code = 0;
        try {
            boolean isToBlame = !isStopped() && !isWriting();
            for (long child : children()) {
                String[] stat = stat(child);
                isToBlame &= stat[STATE].charAt(0) == ZOMBIE;
                now.add(child);
                code = code == 0 ? exitCode(Integer.parseInt(stat[EXIT_STATUS])) : code;
            }
            hasStarted |= !now.isEmpty();
            if (!isToBlame || (now.isEmpty() && !(hasStarted && allEndWell.getAsBoolean()))) {
                ended = NOT_ALL;
                return OptionalInt.empty();
            }
        } catch (IOException e) {
            ended = NOT_ALL; // mpirun has taken one away, or ends
            return OptionalInt.empty();
        }
        if (!now.equals(ended)) {
            ended = now;
            sinceNanos = nowNanos;
            return OptionalInt.empty();
        }
        return nowNanos - sinceNanos < patienceNanos ? OptionalInt.empty() : OptionalInt.of(code);
    }

    /** The exit code as a shell gives it: 128 and the signal's number for a process that was ended by a signal. */
    private static int exitCode(int status) {
        int signal = status & SIGNAL_BITS;
        return signal == 0 ? status >> 8 & 0xff : ObservedFailure.SIGNAL_BASE + signal;
    }

    /** Whether mpirun is stopped, by a debugger or by Ctrl-Z. */
    private boolean isStopped() throws IOException {
        return "Tt".indexOf(stat(mpirun)[STATE].charAt(0)) >= 0;
    }

    /** Whether one of mpirun's threads is in a write, in which it waits until its output is read. */
    private boolean isWriting() throws IOException {
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(proc.resolve(mpirun + "/task"))) {
            for (Path thread : threads) {
                if (WRITES.matcher(Files.readString(thread.resolve("syscall"))).lookingAt()) {
                    return true;
                }
            }
        }
        return false;
    }

    private String[] stat(long pid) throws IOException {
        String line = Files.readString(proc.resolve(pid + "/stat"));
        return line.substring(line.lastIndexOf(')') + 1).strip().split(" ");
    }

    /** The children of all its threads. A kernel without the file has none to show. */
    private List<Long> children() throws IOException {
        List<Long> children = new ArrayList<>();
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(proc.resolve(mpirun + "/task"))) {
            for (Path thread : threads) {
                for (String child :
                        Files.readString(thread.resolve("children")).strip().split(" ")) {
                    if (!child.isEmpty()) {
                        children.add(Long.parseLong(child));
                    }
                }
            }
        }
        return children;
    }
}
