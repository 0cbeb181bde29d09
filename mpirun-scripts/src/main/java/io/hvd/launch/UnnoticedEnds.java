package io.hvd.launch;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.regex.Pattern;

/**
 * Tells when mpirun takes no notice of the end of its ranks: all its children have ended and stay there as zombies. A
 * stranger at one of mpirun's own ports can keep it so busy with waiting that it does nothing else any more. Where mpirun
 * has connections to other hosts, those are children that live, and this says nothing.
 */
final class UnnoticedEnds {
    /** A sound mpirun takes a few milliseconds. */
    private static final long PATIENCE_NANOS = 5_000_000_000L;

    /** In /proc/PID/syscall: write or writev, of x86-64 or of ARM, to standard output or error. */
    private static final Pattern WRITES = Pattern.compile("(1|20|64|66) 0x[12] ");

    private static final char ZOMBIE = 'Z';
    /** Counted after the closing parenthesis of the command, in proc(5) fields 3 and 52. */
    private static final int STATE = 0;

    private static final int EXIT_STATUS = 49;
    private static final int SIGNAL_BITS = 0x7f;

    private final Path proc;
    private final long mpirun;
    private final long patienceNanos;
    /** Those that had all ended at the last look, and since when. */
    private List<Long> ended = List.of();

    private long sinceNanos;

    UnnoticedEnds(long mpirun) {
        this(Path.of("/proc"), mpirun, PATIENCE_NANOS);
    }

    UnnoticedEnds(Path proc, long mpirun, long patienceNanos) {
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
            if (isStopped() || isWriting()) {
                ended = List.of();
                return OptionalInt.empty();
            }
            for (long child : children()) {
                String[] stat = stat(child);
                if (stat[STATE].charAt(0) != ZOMBIE) {
                    ended = List.of();
                    return OptionalInt.empty();
                }
                now.add(child);
                code = code == 0 ? exitCode(Integer.parseInt(stat[EXIT_STATUS])) : code;
            }
        } catch (IOException e) {
            now.clear(); // mpirun has taken one away, or ends
        }
        if (now.isEmpty() || !now.equals(ended)) {
            ended = now;
            sinceNanos = nowNanos;
            return OptionalInt.empty();
        }
        return nowNanos - sinceNanos < patienceNanos ? OptionalInt.empty() : OptionalInt.of(code);
    }

    /** As a shell gives it: 128 and the signal's number for a process that was ended by one. */
    private static int exitCode(int status) {
        int signal = status & SIGNAL_BITS;
        return signal == 0 ? status >> 8 & 0xff : Seen.SIGNAL_BASE + signal;
    }

    /** By a debugger, or by somebody who has pressed Ctrl-Z. */
    private boolean isStopped() throws IOException {
        return "Tt".indexOf(stat(mpirun)[STATE].charAt(0)) >= 0;
    }

    /** It waits for whoever reads its output; also where that is not to be seen. */
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
