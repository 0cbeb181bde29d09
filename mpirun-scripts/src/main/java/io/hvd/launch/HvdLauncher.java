package io.hvd.launch;

import io.hvd.config.RankPlace;
import io.hvd.config.Setting;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.launch.jvm.CallerClasses;
import io.hvd.launch.jvm.InstalledJava;
import io.hvd.launch.options.LaunchOptions;
import io.hvd.launch.options.LaunchSettings;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.words.UsageException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Starts a job from a running Java program, as horovodrun does from a shell: under the same mpirun, with the same
 * flags, and with the caller's class path and Java on every rank, also out of Spring Boot's executable jar. Immutable: each method gives a launcher that differs
 * in one thing. A job belongs to the call that runs it; when that returns or throws, nothing of the job is left.
 */
public final class HvdLauncher {
    private static final String RANK_VARIABLE = "OMPI_COMM_WORLD_RANK";

    private final List<String> flags;
    private final List<String> javaFlags;
    private final Map<String, String> variables;
    private final Optional<Path> directory;
    private final Optional<Duration> limit;

    private HvdLauncher(
            List<String> flags,
            List<String> javaFlags,
            Map<String, String> variables,
            Optional<Path> directory,
            Optional<Duration> limit) {
        this.flags = List.copyOf(flags);
        this.javaFlags = List.copyOf(javaFlags);
        this.variables = Map.copyOf(variables);
        this.directory = directory;
        this.limit = limit;
    }

    /** A job of so many ranks, on this machine unless flags say otherwise; more ranks than cores are allowed. */
    public static HvdLauncher ranks(int ranks) {
        return new HvdLauncher(
                List.of("-np", Integer.toString(ranks)), List.of(), Map.of(), Optional.empty(), Optional.empty());
    }

    /** The short form of {@code ranks(np).run(main, args)}. */
    public static void run(Class<?> main, String[] args, int np) throws InterruptedException {
        ranks(np).run(main, args);
    }

    /**
     * The short form of {@code ranks(np).call(program, args)}.
     *
     * @return the results, by rank
     */
    public static <R> List<R> call(Class<? extends LaunchedProgram<R>> program, String[] args, int np)
            throws InterruptedException {
        return ranks(np).call(program, args);
    }

    /** Flags of horovodrun besides the number of ranks, such as {@code "-H", "a:2,b:2"}; they add to earlier ones. */
    public HvdLauncher flags(String... more) {
        return new HvdLauncher(joined(flags, more), javaFlags, variables, directory, limit);
    }

    /**
     * Words for the ranks' JVM, such as {@code -Xmx4g}; those that horovodrun adds stand before them. A class path among them
     * ({@code "-cp", path}) takes the place of the caller's.
     */
    public HvdLauncher java(String... more) {
        return new HvdLauncher(flags, joined(javaFlags, more), variables, directory, limit);
    }

    /** A variable for the ranks, besides those of this process. */
    public HvdLauncher environment(String name, String value) {
        Map<String, String> more = new HashMap<>(variables);
        more.put(name, value);
        return new HvdLauncher(flags, javaFlags, more, directory, limit);
    }

    /** Has the ranks start in this folder, on every host; without it they start in the folder of this process. */
    public HvdLauncher directory(Path folder) {
        return new HvdLauncher(flags, javaFlags, variables, Optional.of(folder), limit);
    }

    /** Limits the job's time, after which the job is ended and the call throws. */
    public HvdLauncher limit(Duration time) {
        return new HvdLauncher(flags, javaFlags, variables, directory, Optional.of(time));
    }

    /**
     * Runs a main class on every rank and returns when all have ended with 0. Their output goes where this process's
     * does; they get no input.
     *
     * @throws JobFailedException if a rank has failed, which it names, or at the limit
     * @throws HvdException if the job cannot be started
     * @throws InterruptedException if this thread is interrupted; the job has been ended then
     */
    public void run(Class<?> main, String... args) throws InterruptedException {
        launch(words(main, main, List.of(args)), false, (folder, ranks) -> null);
    }

    /**
     * Runs a program whose ranks hand something back.
     *
     * @return the results, by rank
     */
    public <R> List<R> call(Class<? extends LaunchedProgram<R>> program, String... args) throws InterruptedException {
        LaunchedProgram<R> reader = instance(program);
        List<String> command = words(program, LaunchedMain.class, joined(List.of(program.getName()), args));
        return launch(command, true, (folder, ranks) -> RankResults.read(folder, ranks, reader));
    }

    private interface Harvest<T> {
        T from(Path folder, int ranks) throws IOException;
    }

    private <T> T launch(List<String> words, boolean takesResults, Harvest<T> harvest) throws InterruptedException {
        Map<String, String> environment = environment();
        var around = new LaunchEnvironment(environment, directory, false, takesResults);
        try {
            LaunchSettings settings = LaunchOptions.parse(environment, words.toArray(String[]::new));
            settings.notes().forEach(note -> System.err.println("hvd: " + note));
            try (RestartedJob launch = RestartedJob.prepare(settings, around, System.err)) {
                LimitedRun.of(launch, limit);
                return harvest.from(launch.folder(), launch.ranks());
            }
        } catch (UsageException e) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "no job was started: " + e.getMessage(), e);
        } catch (IOException e) {
            throw new HvdException(ErrorId.JOB_FAILED, "the job could not be run: " + e, e);
        }
    }

    private static <P> P instance(Class<P> program) {
        try {
            return program.getConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    program.getName() + " must be a public class with a public constructor without parameters: " + e,
                    e);
        }
    }

    private Map<String, String> environment() {
        Map<String, String> environment = new HashMap<>(System.getenv());
        environment.putAll(variables);
        boolean ofHorovodrun =
                environment.getOrDefault(Setting.RENDEZVOUS.variable(), "").startsWith(RankPlace.LAUNCHER);
        String rank = ofHorovodrun ? environment.get("HOROVOD_RANK") : environment.get(RANK_VARIABLE);
        if (rank != null) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "rank " + rank + " of a job cannot start another job inside it; start both from the outside, or use"
                            + " Hvd.spawn");
        }
        return environment;
    }

    private List<String> words(Class<?> program, Class<?> main, List<String> args) {
        CallerClasses classes = CallerClasses.ofThisJvm();
        List<String> words = new ArrayList<>(flags);
        words.add(classes.java());
        words.addAll(javaFlags);
        InstalledJava.nativeAccess(Runtime.version().feature()).ifPresent(words::add);
        if (CallerClasses.areGiven(javaFlags)) {
            words.add(main.getName());
        } else {
            words.addAll(classes.words(program, main));
        }
        words.addAll(args);
        return words;
    }

    private static List<String> joined(List<String> words, String... more) {
        List<String> all = new ArrayList<>(words);
        all.addAll(List.of(more));
        return all;
    }
}
