package io.hvd.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Starts the ranks of a benchmark, waits for them, and reads their timings. */
final class RankLaunch {
    private static final long LIMIT_SECONDS = 900;

    /**
     * Variables of all launches: one thread computes in each rank, with hvd and without, and the opponents' libraries
     * leave the JVM's signals and the network alone.
     */
    private static final Map<String, String> ENVIRONMENT = Map.of(
            "OMP_NUM_THREADS", "1",
            "OPENBLAS_NUM_THREADS", "1",
            "HVD_THREADS_PER_RANK", "1",
            "GLOO_SOCKET_IFNAME", "lo",
            "UCX_ERROR_SIGNALS", "");

    private RankLaunch() {}

    /** Thrown if a job has failed. */
    static final class Failed extends IOException {
        private static final long serialVersionUID = 1;

        Failed(String message) {
            super(message);
        }
    }

    /** Does one launch under a setting. */
    interface Start {
        Samples under(MpiSetting setting) throws IOException, InterruptedException;
    }

    /**
     * Launches under all settings in turn, several times; reports and leaves out a setting for which this Open MPI lacks
     * the component or which it refuses.
     */
    static Map<MpiSetting, Samples> inTurn(
            String what, List<MpiSetting> settings, int repeat, Benchmark.Progress progress, Start start)
            throws IOException, InterruptedException {
        Map<MpiSetting, Samples> all = new LinkedHashMap<>();
        List<MpiSetting> usable = Components.installed().usable(settings, progress);
        for (int launch = 0; launch < repeat; launch++) {
            for (MpiSetting setting : usable) {
                progress.say(what + ", Open MPI's setting " + setting.name());
                try {
                    all.merge(setting, start.under(setting), (before, now) -> Samples.together(List.of(before, now)));
                } catch (Failed e) {
                    progress.say("the setting is left out, because this Open MPI refuses it here: " + e.getMessage());
                }
            }
        }
        return all;
    }

    /**
     * Starts ranks by plain mpirun. The placement does not depend on the setting; processes are bound if there is a
     * core for each.
     *
     * @param program a main class, whose arguments are the run's folder and {@code args}
     */
    static Samples mpirun(int ranks, MpiSetting setting, Class<?> program, String... args)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(mpirun(ranks, binding(ranks)));
        command.addAll(setting.arguments());
        return run(ranks, command, Map.of(), program, args);
    }

    /**
     * Starts ranks that are not bound, as horovodrun does. Gloo's collectives take several times as long if they are
     * bound to a core.
     */
    static Samples unbound(int ranks, Class<?> program, String... args) throws IOException, InterruptedException {
        return run(ranks, mpirun(ranks, "none"), Map.of(), program, args);
    }

    /** A part of a benchmark that needs a launch of its own. */
    interface Part {
        Samples run() throws IOException, InterruptedException;
    }

    /** Adds the samples of another part; if that part fails, reports this and returns the given samples alone. */
    static Samples with(Samples there, String part, Benchmark.Progress progress, Part other)
            throws IOException, InterruptedException {
        try {
            return Samples.together(List.of(there, other.run()));
        } catch (Failed e) {
            progress.say(part + " is left out: " + e.getMessage());
            return there;
        }
    }

    /** Starts one process without a launcher. */
    static Samples alone(Map<String, String> environment, Class<?> program, String... args)
            throws IOException, InterruptedException {
        return run(1, List.of(), environment, program, args);
    }

    /** Starts ranks by any launcher, whose words come before the program. */
    static Samples run(
            int ranks, List<String> launcher, Map<String, String> environment, Class<?> program, String... args)
            throws IOException, InterruptedException {
        return QuietLaunch.usual().of(() -> {
            Path folder = Files.createTempDirectory("hvd-bench");
            try {
                List<String> command = new ArrayList<>(launcher);
                command.addAll(java());
                command.addAll(List.of(program.getName(), folder.toString()));
                command.addAll(List.of(args));
                return counted(() -> {
                    await(command, environment, folder.resolve("output"));
                    return Samples.ofSlowest(folder, ranks);
                });
            } finally {
                delete(folder);
            }
        });
    }

    /** Has the samples of a launch say when it began and what other programs had of the processors. */
    private static Samples counted(QuietLaunch.Attempt launch) throws IOException, InterruptedException {
        double micros = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
        ProcessorTimes before = ProcessorTimes.now();
        Samples samples = launch.launch();
        ProcessorTimes after = ProcessorTimes.now();
        samples.launched(micros, after.capacitySince(before), after.othersSince(before));
        return samples;
    }

    /**
     * Starts ranks that may be on other hosts, which do not see this host's files. Nobody looks at what other programs
     * have of the processors, because ranks that ssh has started would be taken for such.
     *
     * @param program a main class that prints its timings in the form of {@link Samples#said}
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
        boolean prrte = MachineLine.openMpi().startsWith("5");
        List<String> words = new ArrayList<>(List.of("mpirun", "-np", Integer.toString(ranks), "--bind-to", binding));
        words.addAll(prrte ? List.of("--map-by", "slot:OVERSUBSCRIBE") : List.of("--oversubscribe"));
        if (System.getProperty("user.name").equals("root")) {
            words.add("--allow-run-as-root");
        }
        words.addAll(List.of("--mca", "opal_signal", "31"));
        if (ranks > MachineLine.cores()) {
            words.addAll(List.of("--mca", "mpi_yield_when_idle", "1"));
        }
        return words;
    }

    /**
     * The binding for this number of ranks: to cores, as Open MPI does by default with two ranks, if there are enough
     * cores. Without binding the scheduler leaves cores idle for milliseconds. There may be fewer cores than hardware
     * threads.
     */
    private static String binding(int ranks) {
        return ranks > MachineLine.cores() ? "none" : "core:overload-allowed";
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
            throw new Failed((ended ? "exit code " + process.exitValue() : "no end after " + LIMIT_SECONDS + " s")
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
