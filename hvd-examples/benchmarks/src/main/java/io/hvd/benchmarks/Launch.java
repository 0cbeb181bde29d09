package io.hvd.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Starts the ranks of a benchmark, waits for them, and brings their timings back. */
final class Launch {
    private static final long LIMIT_SECONDS = 900;

    /** One thread computes in each rank, hvd or not; libraries of opponents keep off the JVM's signals and the network. */
    private static final Map<String, String> ENVIRONMENT = Map.of(
            "OMP_NUM_THREADS", "1",
            "OPENBLAS_NUM_THREADS", "1",
            "HVD_THREADS_PER_RANK", "1",
            "GLOO_SOCKET_IFNAME", "lo",
            "UCX_ERROR_SIGNALS", "");

    private Launch() {}

    /** A job that did not end well. */
    static final class Failed extends IOException {
        private static final long serialVersionUID = 1;

        Failed(String message) {
            super(message);
        }
    }

    /** One launch under a setting. */
    interface Start {
        Samples under(MpiSetting setting) throws IOException, InterruptedException;
    }

    /** Launches under each setting in turn, so often; one that this Open MPI cannot do is left out, and said to be. */
    static Map<MpiSetting, Samples> inTurn(
            String what, List<MpiSetting> settings, int repeat, Benchmark.Progress progress, Start start)
            throws IOException, InterruptedException {
        Map<MpiSetting, Samples> all = new LinkedHashMap<>();
        for (int launch = 0; launch < repeat; launch++) {
            for (MpiSetting setting : settings) {
                progress.say(what + ", Open MPI's setting " + setting.name());
                try {
                    all.merge(setting, start.under(setting), (before, now) -> Samples.together(List.of(before, now)));
                } catch (Failed e) {
                    progress.say("left out, this Open MPI cannot do it here: " + e.getMessage());
                }
            }
        }
        return all;
    }

    /**
     * Plain mpirun, all processes placed alike whatever the setting, and bound where each can have a core.
     *
     * @param program gets the run's folder, then {@code args}
     */
    static Samples mpirun(int ranks, MpiSetting setting, Class<?> program, String... args)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(mpirun(ranks, binding(ranks)));
        command.addAll(setting.arguments());
        return run(ranks, command, Map.of(), program, args);
    }

    /**
     * Ranks whose threads may go where they like, as horovodrun starts them; Gloo's collectives, bound to a core, take several
     * times as long.
     */
    static Samples unbound(int ranks, Class<?> program, String... args) throws IOException, InterruptedException {
        return run(ranks, mpirun(ranks, "none"), Map.of(), program, args);
    }

    /** A part of a benchmark that has a launch of its own. */
    interface Part {
        Samples run() throws IOException, InterruptedException;
    }

    /** What there is, and what another part brings if it can; if not, that is said. */
    static Samples with(Samples there, String part, Benchmark.Progress progress, Part other)
            throws IOException, InterruptedException {
        try {
            return Samples.together(List.of(there, other.run()));
        } catch (Failed e) {
            progress.say(part + " is left out: " + e.getMessage());
            return there;
        }
    }

    /** One process without a launcher. */
    static Samples alone(Map<String, String> environment, Class<?> program, String... args)
            throws IOException, InterruptedException {
        return run(1, List.of(), environment, program, args);
    }

    /** Any launcher: its words, then the program. */
    static Samples run(
            int ranks, List<String> launcher, Map<String, String> environment, Class<?> program, String... args)
            throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("hvd-bench");
        try {
            List<String> command = new ArrayList<>(launcher);
            command.addAll(java());
            command.addAll(List.of(program.getName(), folder.toString()));
            command.addAll(List.of(args));
            await(command, environment, folder.resolve("output"));
            return Samples.ofSlowest(folder, ranks);
        } finally {
            delete(folder);
        }
    }

    /**
     * A launcher whose ranks may be on other hosts, which do not see this one's files.
     *
     * @param program says its timings as {@link Samples#said} has them
     */
    static Samples hosts(int ranks, List<String> launcher, Class<?> program, String... args)
            throws IOException, InterruptedException {
        Path output = Files.createTempFile("hvd-bench", ".output");
        try {
            List<String> command = new ArrayList<>(launcher);
            command.addAll(java());
            command.add(program.getName());
            command.addAll(List.of(args));
            await(command, Map.of(), output);
            return Samples.ofSlowest(Files.readAllLines(output), ranks);
        } finally {
            Files.delete(output);
        }
    }

    private static List<String> mpirun(int ranks, String binding) {
        boolean prrte = Machine.openMpi().startsWith("5");
        List<String> words = new ArrayList<>(List.of("mpirun", "-np", Integer.toString(ranks), "--bind-to", binding));
        words.addAll(prrte ? List.of("--map-by", "slot:OVERSUBSCRIBE") : List.of("--oversubscribe"));
        if (System.getProperty("user.name").equals("root")) {
            words.add("--allow-run-as-root");
        }
        words.addAll(List.of("--mca", "opal_signal", "31"));
        if (ranks > Machine.cores()) {
            words.addAll(List.of("--mca", "mpi_yield_when_idle", "1"));
        }
        return words;
    }

    /**
     * As Open MPI binds two ranks unless told otherwise: the scheduler leaves cores idle for milliseconds else. There may be
     * fewer cores than hardware threads.
     */
    private static String binding(int ranks) {
        return ranks > Machine.cores() ? "none" : "core:overload-allowed";
    }

    private static void await(List<String> command, Map<String, String> environment, Path output)
            throws IOException, InterruptedException {
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        Map<String, String> variables = new HashMap<>(ENVIRONMENT);
        variables.putAll(environment);
        builder.environment().putAll(variables);
        Process process = builder.start();
        Thread whoeverEndsTheBenchmarkEndsIt = new Thread(process::destroy);
        Runtime.getRuntime().addShutdownHook(whoeverEndsTheBenchmarkEndsIt);
        boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        if (!ended) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
        }
        unless(whoeverEndsTheBenchmarkEndsIt);
        if (!ended || process.exitValue() != 0) {
            throw new Failed((ended ? "exit code " + process.exitValue() : "no end within " + LIMIT_SECONDS + " s")
                    + " of " + String.join(" ", command) + "\n" + Files.readString(output));
        }
    }

    private static void unless(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException endingAlready) {
            // it runs now
        }
    }

    private static List<String> java() {
        // Surefire and failsafe start their JVM with a jar that only names the class path.
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        List<String> words = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        if (Runtime.version().feature() >= 22) {
            words.add("--enable-native-access=ALL-UNNAMED");
        }
        words.addAll(List.of("-cp", classPath));
        return words;
    }

    private static void delete(Path folder) throws IOException {
        List<Path> all;
        try (Stream<Path> files = Files.walk(folder)) {
            all = files.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path file : all) {
            Files.delete(file);
        }
    }
}
