package io.hvd.transport.mpi.openmpi;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * The launcher process that has started this one. Open MPI 4.1 sleeps for a second between SIGTERM
 * and SIGKILL when a rank has died; a SIGCHLD cuts the sleep short. For any other launcher it is one
 * of the many that it gets anyway.
 */
public final class MpiLauncher implements AutoCloseable {
    private static final Set<String> LAUNCHERS =
            Set.of("mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "prte");

    private static final Set<String> LAUNCHERS_OF_ONE_JOB = Set.of("mpirun", "mpiexec", "orterun", "prterun");

    /**
     * Java cannot send a signal other than TERM and KILL; a shell does when it reads a line, fifty times
     * within a second, because the launcher sleeps twice. The launcher's SIGTERM goes to this rank's whole
     * process group, and the second sleep comes after that, when this JVM may have come to its end.
     */
    private static final String WAKER =
            "trap '' TERM; read -r line && for i in 0 1 2 3 4 5 6 7 8 9; do for j in 0 1 2 3 4; do"
                    + " kill -CHLD %d 2>/dev/null || exit; sleep 0.02; done; done";

    private final Process shell;

    private MpiLauncher(Process shell) {
        this.shell = shell;
    }

    /** Makes ready to wake it; empty if the parent process is no launcher of Open MPI. */
    public static Optional<MpiLauncher> ofThisProcess() {
        return launcher().flatMap(MpiLauncher::open);
    }

    /** Its process; empty if the parent is no launcher of Open MPI. */
    private static Optional<Long> launcher() {
        return parent(LAUNCHERS);
    }

    /** Its process if it launches one job alone; empty if it is a daemon, which may serve other jobs too. */
    static Optional<Long> launcherOfOneJob() {
        return parent(LAUNCHERS_OF_ONE_JOB);
    }

    private static Optional<Long> parent(Set<String> names) {
        return ProcessHandle.current().parent().map(ProcessHandle::pid).filter(pid -> isOneOf(names, pid));
    }

    /** Lets it go on with the end of the job at once. Once, and only for a rank that needs its time no longer. */
    public void wake() {
        try {
            shell.getOutputStream().write('\n');
            shell.getOutputStream().flush();
        } catch (IOException e) {
            // Then it ends in its own time.
        }
    }

    /** The shell ends at the end of its input, at the latest with this process. */
    @Override
    public void close() {
        try {
            shell.getOutputStream().close();
        } catch (IOException e) {
            shell.destroy();
        }
    }

    private static boolean isOneOf(Set<String> names, long pid) {
        try {
            return names.contains(
                    Files.readString(Path.of("/proc/" + pid + "/comm")).strip());
        } catch (IOException e) {
            return false; // gone, or a system without /proc
        }
    }

    private static Optional<MpiLauncher> open(long pid) {
        try {
            return Optional.of(new MpiLauncher(new ProcessBuilder("sh", "-c", String.format(Locale.ROOT, WAKER, pid))
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start()));
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
