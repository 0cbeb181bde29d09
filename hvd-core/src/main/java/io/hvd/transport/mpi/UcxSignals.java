package io.hvd.transport.mpi;

import io.hvd.config.HvdProgram;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Detects that UCX, which some Open MPIs load, has made itself the handler of SIGSEGV, by which the JVM stops its
 * threads. Only the environment in which the process starts can prevent this, so a rank can only warn.
 */
final class UcxSignals {
    private static final Path MAPPED = Path.of("/proc/self/maps");
    private static final String VARIABLE = "UCX_ERROR_SIGNALS";

    private UcxSignals() {}

    /** A warning, if something is wrong in this process once MPI has started. */
    static Optional<String> warning() {
        try (Stream<String> mapped = Files.lines(MAPPED)) {
            return warning(System.getenv(), mapped);
        } catch (IOException e) {
            return Optional.empty(); // without Linux there is no way to know
        }
    }

    /** @param mapped lines of {@code /proc/self/maps} */
    static Optional<String> warning(Map<String, String> environment, Stream<String> mapped) {
        boolean keepsOff = environment.containsKey(VARIABLE)
                && !environment.get(VARIABLE).contains("SEGV")
                && !environment.get(VARIABLE).contains("11");
        if (keepsOff || mapped.noneMatch(line -> line.contains("/libucs.so"))) {
            return Optional.empty();
        }
        return Optional.of(
                "Open MPI has loaded UCX, which takes SIGSEGV from the JVM, and the JVM ends the process when it"
                        + " misses it (\"Caught signal 11\"): start the ranks by " + HvdProgram.HOROVODRUN.eitherWay()
                        + ", or by mpirun -x "
                        + VARIABLE
                        + "= with that variable empty, found "
                        + (environment.containsKey(VARIABLE) ? environment.get(VARIABLE) : "none"));
    }
}
