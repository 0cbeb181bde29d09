package io.hvd.transport.mpi.openmpi;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A limit for the launcher's own end. Open MPI's mpirun may wait for ever for a host whose cable is cut, or for a
 * stranger at one of its ports, after all ranks of its host have ended. A shell that outlives the ranks ends mpirun if
 * it still runs after a time that a sound mpirun never needs.
 */
public final class LauncherLimit {
    /** Long enough for the pause of two seconds and more that mpirun makes between its signals to the ranks. */
    static final Duration STANDARD = Duration.ofSeconds(10);

    /** How much later each further rank of a host does it, in case the ranks before it cannot. */
    private static final Duration APART = Duration.ofSeconds(3);

    /** Its comment says which arguments it takes. */
    private static final String SCRIPT = "launcher-limit.sh";

    private LauncherLimit() {}

    /**
     * For a job that has failed. Begins now; what this rank still does counts. Where no shell can be started there is
     * no limit.
     *
     * @param first whether this is the first rank of its host that lives
     */
    public static void begin(boolean first) {
        MpiLauncher.launcherOfOneJob()
                .ifPresent(pid -> begin(pid, first ? STANDARD : STANDARD.plus(APART), temporaryFolder(), From.NOW));
    }

    /**
     * For a job that has ended well: begins when all processes that the launcher has started on this host have ended
     * and are still there as zombies, which a sound launcher takes notice of at once. As long as one lives, such as a
     * program of another kind in the same job, there is no limit. There is none either while the launcher waits for the
     * reader of its output.
     *
     * @param ofOneHost whether all ranks are on this host: then a launcher that has taken notice and stays is ended,
     *     too
     */
    public static void beginAfterTheRanks(boolean ofOneHost) {
        MpiLauncher.launcherOfOneJob()
                .ifPresent(
                        pid -> begin(pid, STANDARD, temporaryFolder(), ofOneHost ? From.ENDS_OF_ONE_HOST : From.ENDS));
    }

    /** When a limit begins to count. */
    enum From {
        NOW("now"),
        /** When the processes on this host have ended. */
        ENDS("ranks"),
        /** When the processes on this host have ended, which are all that the launcher has ever started. */
        ENDS_OF_ONE_HOST("host");

        private final String word;

        From(String word) {
            this.word = word;
        }
    }

    /** @param folder the one in which the launcher keeps the files of its session */
    static void begin(long pid, Duration limit, Path folder, From from) {
        try {
            List<String> line = new ArrayList<>(List.of("sh", "-c", script(), "hvd-launcher-limit"));
            line.addAll(
                    List.of(String.valueOf(pid), String.valueOf(limit.toMillis() / 100), folder.toString(), from.word));
            if (Files.isExecutable(Path.of("/usr/bin/setsid"))) {
                line.add(0, "/usr/bin/setsid"); // what ends a rank's process group or session does not end this
            }
            ProcessBuilder builder = new ProcessBuilder(line)
                    .directory(Path.of("/").toFile())
                    .redirectInput(Path.of("/dev/null").toFile())
                    .redirectOutput(Redirect.DISCARD)
                    .redirectError(Redirect.DISCARD);
            Map<String, String> environment = builder.environment();
            environment.clear(); // a launcher tells the processes of its job by what is in there
            environment.put("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
            builder.start();
        } catch (IOException | LinkageError | OutOfMemoryError e) {
            // No process, no thread, or no file descriptor is left. Nothing that the user could do anything about, and
            // usually mpirun ends by itself.
        }
    }

    private static String script() throws IOException {
        try (InputStream script = LauncherLimit.class.getResourceAsStream(SCRIPT)) {
            if (script == null) {
                throw new FileNotFoundException(SCRIPT); // a jar of everything may have left it out
            }
            return new String(script.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static Path temporaryFolder() {
        return Path.of(System.getenv().getOrDefault("TMPDIR", "/tmp"));
    }
}
