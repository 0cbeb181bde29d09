package io.hvd.examples;

import io.hvd.launch.Horovodrun;
import io.hvd.testing.ClassArchive;
import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Starts the train.jar that the build has made, in the ways in which users start it. */
public final class TrainJar {
    private static final Path JAR = Path.of("target", "train.jar").toAbsolutePath();
    private static final Path JDK = Path.of(System.getProperty("java.home"), "bin");

    /** Several ranks share few cores here, and one rank may share them with other work. */
    private static final String ONE_THREAD = "HVD_THREADS_PER_RANK";

    private TrainJar() {}

    public static Job horovodrun(int ranks, String... flags) {
        return horovodrun(ranks, List.of(), flags);
    }

    /** An elastic job, which goes on with two ranks. */
    public static Job elastic(int ranks, String... flags) {
        return horovodrun(ranks, List.of("--min-np", "2"), flags);
    }

    /** With a setting, which horovodrun hands on to every rank. */
    public static Job horovodrunWith(String variable, String value, int ranks, String... flags) {
        return horovodrun(ranks, List.of("env", variable + "=" + value), flags);
    }

    /** Every rank runs in a folder of its own, {@code folder/rank-0} and so on, made if it is not there. */
    public static Job horovodrunInOwnFolders(int ranks, Path folder, String... flags) {
        String enter =
                "mkdir -p \"$0/rank-$OMPI_COMM_WORLD_RANK\" && cd \"$0/rank-$OMPI_COMM_WORLD_RANK\" && exec \"$@\"";
        return horovodrun(ranks, List.of("sh", "-c", enter, folder.toString()), flags);
    }

    /** Plain mpirun in the jar's own folder; the JVM gets no flags. */
    public static Job mpirun(int ranks, String... flags) {
        List<String> command = Mpirun.command(ranks);
        command.addAll(List.of("java", "-jar", JAR.getFileName().toString()));
        command.addAll(List.of(flags));
        return run(inFolderOfJar(command), Map.of());
    }

    /** Runs train.jar under plain mpirun, which changes no word for a program that it does not take for Java. */
    public static Job mpirun(Map<String, String> environment, int ranks, String... flags) {
        List<String> command = Mpirun.command(ranks);
        command.addAll(List.of("env", "java"));
        command.addAll(forAShortLife());
        command.addAll(List.of("-jar", JAR.toString()));
        command.addAll(List.of(flags));
        return run(inFolderOfJar(command), environment);
    }

    /** {@code java -jar train.jar}, without a launcher. */
    public static Job alone(String... flags) {
        return alone(Map.of(), flags);
    }

    /** Runs it alone, with variables. */
    public static Job alone(Map<String, String> environment, String... flags) {
        List<String> command = new ArrayList<>(List.of("java"));
        command.addAll(forAShortLife());
        command.addAll(List.of("-jar", JAR.toString()));
        command.addAll(List.of(flags));
        return run(inFolderOfJar(command), environment);
    }

    /** Starts it alone, with both streams as one; whoever calls it ends it. */
    public static Process start(String... flags) throws IOException {
        List<String> command = new ArrayList<>(List.of(JDK.resolve("java").toString()));
        command.addAll(forAShortLife());
        command.addAll(List.of("-jar", JAR.toString()));
        command.addAll(List.of(flags));
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    private static Job horovodrun(int ranks, List<String> wrapper, String... flags) {
        List<String> args = new ArrayList<>(List.of("-np", String.valueOf(ranks)));
        args.addAll(wrapper);
        args.add("java");
        args.addAll(forAShortLife());
        args.addAll(List.of("-jar", JAR.toString()));
        args.addAll(List.of(flags));
        return run(Job.program(Horovodrun.class, args.toArray(String[]::new)));
    }

    /** Half of what such a JVM computes would be for reading and compiling classes. */
    private static List<String> forAShortLife() {
        List<String> flags = new ArrayList<>(List.of("-XX:TieredStopAtLevel=1"));
        String java = JDK.resolve("java").toString();
        flags.addAll(ClassArchive.flagsOfJar(java, JAR, "digits", "--epochs", "1", "--max-steps", "2"));
        return flags;
    }

    private static List<String> inFolderOfJar(List<String> command) {
        List<String> there = new ArrayList<>(
                List.of("sh", "-c", "cd \"$0\" && exec \"$@\"", JAR.getParent().toString()));
        there.addAll(command);
        return there;
    }

    private static Job run(List<String> command) {
        return run(command, Map.of());
    }

    private static Job run(List<String> command, Map<String, String> more) {
        Map<String, String> environment = new HashMap<>(more);
        environment.put(ONE_THREAD, "1");
        // "java" is the JVM of this test
        environment.put("PATH", JDK + File.pathSeparator + System.getenv("PATH"));
        return Job.run(command, environment);
    }
}
