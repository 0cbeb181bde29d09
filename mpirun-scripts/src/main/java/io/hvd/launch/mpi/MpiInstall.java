package io.hvd.launch.mpi;

import io.hvd.launch.words.UsageException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;

/**
 * The MPI that starts the job: the one on PATH, or the one HVD_OPENMPI_HOME points to.
 *
 * @param command the word that starts it: the bare name where PATH finds it, since mpirun takes its own absolute
 *     path for an order to use the same prefix on every host
 * @param environment the child's environment, in which this Open MPI comes first
 */
public record MpiInstall(String command, Path mpirun, MpiVersion version, Map<String, String> environment) {

    private static final String HOME_VARIABLE = "HVD_OPENMPI_HOME";
    private static final int VERSION_LIMIT_SECONDS = 20;

    /** @throws UsageException if there is none, or nobody knows it */
    public static MpiInstall find(Map<String, String> environment) {
        String home = environment.getOrDefault(HOME_VARIABLE, "");
        if (home.isEmpty()) {
            Path mpirun = onPath("mpirun", environment)
                    .orElseThrow(() -> new UsageException(
                            "no-mpirun",
                            "mpirun is not on PATH: install Open MPI (Debian, Ubuntu: apt-get install openmpi-bin;"
                                    + " Fedora: dnf install openmpi), set " + HOME_VARIABLE
                                    + " to its prefix, or start the ranks without MPI, by --gloo"));
            return new MpiInstall("mpirun", mpirun, version(mpirun, environment), environment);
        }
        Path mpirun = Path.of(home, "bin", "mpirun");
        if (!Files.isExecutable(mpirun)) {
            throw new UsageException(
                    "no-mpirun", HOME_VARIABLE + " is " + home + ", but there is no program " + mpirun);
        }
        Map<String, String> first = withFirst(home, environment);
        return new MpiInstall(mpirun.toString(), mpirun, version(mpirun, first), first);
    }

    /** Whether nothing in the environment leads to an mpirun. */
    public static boolean isMissing(Map<String, String> environment) {
        return environment.getOrDefault(HOME_VARIABLE, "").isEmpty()
                && onPath("mpirun", environment).isEmpty();
    }

    /** The first executable file of that name on PATH. */
    public static Optional<Path> onPath(String program, Map<String, String> environment) {
        for (String folder : environment.getOrDefault("PATH", "").split(":")) {
            Path file = Path.of(folder.isEmpty() ? "." : folder, program);
            if (Files.isExecutable(file) && !Files.isDirectory(file)) {
                return Optional.of(file);
            }
        }
        return Optional.empty();
    }

    /**
     * Refuses it if ranks of hvd cannot join under it.
     *
     * @param java the feature release of their Java; empty if it is not known
     * @throws UsageException that says what can be done
     */
    public void requireRunsHvd(OptionalInt java) {
        version.obstacle(java).ifPresent(why -> {
            throw new UsageException(
                    "mpi-cannot-run-hvd",
                    mpirun + " is " + version.text() + ": " + why
                            + ", so nothing is started; --dry-run prints the line."
                            + (version.startsWithHydra() ? " Take a newer Java" : " Install Open MPI 4.1 or 5.0")
                            + ", or set " + HOME_VARIABLE
                            + " to the prefix of an Open MPI, or start the ranks without MPI, by --gloo");
        });
    }

    private static Map<String, String> withFirst(String home, Map<String, String> environment) {
        Map<String, String> changed = new HashMap<>(environment);
        changed.merge("PATH", home + "/bin", (old, added) -> added + ":" + old);
        changed.merge("LD_LIBRARY_PATH", home + "/lib", (old, added) -> old.isEmpty() ? added : added + ":" + old);
        return Map.copyOf(changed);
    }

    private static MpiVersion version(Path mpirun, Map<String, String> environment) {
        String output = versionOutput(mpirun, environment);
        return MpiVersion.parse(output)
                .orElseThrow(() -> new UsageException(
                        "unknown-mpi",
                        mpirun + " belongs to no MPI that is known; it says \""
                                + output.lines().findFirst().orElse("")
                                + "\". hvd knows Open MPI, MPICH and Intel MPI, and --gloo needs none"));
    }

    private static String versionOutput(Path mpirun, Map<String, String> environment) {
        var builder = new ProcessBuilder(mpirun.toString(), "--version").redirectErrorStream(true);
        builder.redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()));
        builder.environment().clear();
        builder.environment().putAll(environment);
        try {
            Process process = builder.start();
            // The output is a few lines and fits into the pipe, so waiting first cannot block it.
            if (!process.waitFor(VERSION_LIMIT_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new UsageException(
                        "mpirun-hangs",
                        mpirun + " --version gave no answer within " + VERSION_LIMIT_SECONDS + " seconds");
            }
            return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UsageException("mpirun-broken", mpirun + " cannot be started: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UsageException("interrupted", "interrupted while asking " + mpirun + " for its version");
        }
    }
}
