package io.hvd;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The launcher process that has started this one. Open MPI 4.1 sleeps for a second between SIGTERM
 * and SIGKILL when a rank has died; a SIGCHLD cuts the sleep short. For any other launcher it is one
 * of the many that it gets anyway.
 */
final class MpiParent {
    private static final Set<String> LAUNCHERS =
            Set.of("mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "prte");
    private static final long LIMIT_MILLIS = 300;

    private MpiParent() {}

    /** Its process number, if it is one of Open MPI's. */
    static Optional<Long> pid() {
        return ProcessHandle.current().parent().map(ProcessHandle::pid).filter(MpiParent::isLauncher);
    }

    /** Lets it go on with the end of the job at once. Only for a rank that needs its time no longer. */
    static void hurry() {
        pid().ifPresent(MpiParent::wake);
    }

    private static boolean isLauncher(long pid) {
        try {
            return LAUNCHERS.contains(
                    Files.readString(Path.of("/proc/" + pid + "/comm")).strip());
        } catch (IOException e) {
            return false; // gone, or a system without /proc
        }
    }

    private static void wake(long pid) {
        try {
            new ProcessBuilder("sh", "-c", "kill -CHLD " + pid).start().waitFor(LIMIT_MILLIS, TimeUnit.MILLISECONDS);
        } catch (IOException e) {
            // Then it ends in its own time.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
