package io.hvd.testing;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A real job of real processes that a test starts and waits for, with a limit. A missing mpirun makes
 * it fail; nothing is ever skipped.
 *
 * @param exitCode of horovodrun or mpirun
 * @param output of all ranks and of the launcher, both streams together
 * @param seconds from start to end
 * @param endedMillis when it ended, in {@link System#currentTimeMillis()}
 */
public record Job(int exitCode, String output, double seconds, long endedMillis) {
    private static final long LIMIT_SECONDS = 300;

    /** Is in hvd-launch, on which the modules whose tests call {@code horovodrun} depend. */
    private static final String HOROVODRUN = "io.hvd.launch.Horovodrun";

    /** Runs a main class of the test class path on {@code ranks} ranks under horovodrun. */
    public static Job horovodrun(int ranks, Map<String, String> environment, Class<?> main, String... args) {
        return horovodrun(ranks, environment, program(main, args));
    }

    /** Runs any program on {@code ranks} ranks under horovodrun. */
    public static Job horovodrun(int ranks, Map<String, String> environment, List<String> program) {
        List<String> command = java();
        command.add(HOROVODRUN);
        command.addAll(List.of("-np", String.valueOf(ranks)));
        command.addAll(program);
        return run(command, environment);
    }

    /** Runs a main class under horovodrun with a limit of its own, for a job that takes its time. */
    public static Job horovodrun(long limitSeconds, int ranks, Class<?> main, String... args) {
        return horovodrun(limitSeconds, ranks, Map.of(), main, args);
    }

    public static Job horovodrun(
            long limitSeconds, int ranks, Map<String, String> environment, Class<?> main, String... args) {
        List<String> command = java();
        command.add(HOROVODRUN);
        command.addAll(List.of("-np", String.valueOf(ranks)));
        command.addAll(program(main, args));
        return run(command, environment, limitSeconds);
    }

    public static Job horovodrun(int ranks, Class<?> main, String... args) {
        return horovodrun(ranks, Map.of(), main, args);
    }

    /** Runs any command line. */
    public static Job run(List<String> command, Map<String, String> environment) {
        return run(command, environment, LIMIT_SECONDS);
    }

    /** Runs any command line that takes its time. */
    public static Job run(List<String> command, Map<String, String> environment, long limitSeconds) {
        try {
            Path log = Files.createTempFile("hvd-job", ".log");
            try {
                return run(command, environment, log, limitSeconds);
            } finally {
                Files.delete(log);
            }
        } catch (IOException e) {
            throw new AssertionError(command + " could not be started: " + e, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(command + " was interrupted", e);
        }
    }

    /** The command line of a Java program on this class path, with this JVM. */
    public static List<String> program(Class<?> main, String... args) {
        return program(System.getProperty("java.home"), main, args);
    }

    /** The same with the Java of another home. */
    public static List<String> program(String home, Class<?> main, String... args) {
        List<String> command = java(home);
        command.add(main.getName());
        command.addAll(List.of(args));
        return command;
    }

    /** Lines of the output that contain a text. */
    public List<String> lines(String text) {
        return output.lines().filter(line -> line.contains(text)).toList();
    }

    private static Job run(List<String> command, Map<String, String> environment, Path log, long limitSeconds)
            throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(ClassArchive.fitting(command))
                .redirectErrorStream(true)
                .redirectInput(new File("/dev/null"))
                .redirectOutput(log.toFile());
        builder.environment().putAll(environment);
        long start = System.nanoTime();
        Process process = builder.start();
        boolean ended = process.waitFor(limitSeconds, TimeUnit.SECONDS);
        long endedMillis = System.currentTimeMillis();
        double seconds = (System.nanoTime() - start) / 1e9;
        if (!ended) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
            throw new AssertionError(command + " did not end within " + limitSeconds + " s; its output:\n"
                    + Files.readString(log, StandardCharsets.UTF_8));
        }
        return new Job(process.exitValue(), Files.readString(log, StandardCharsets.UTF_8), seconds, endedMillis);
    }

    private static List<String> java() {
        return java(System.getProperty("java.home"));
    }

    private static List<String> java(String home) {
        // Surefire and failsafe start their JVM with a jar that only names the class path.
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        String java = Path.of(home, "bin", "java").toString();
        boolean own = home.equals(System.getProperty("java.home"));
        String jarsFirst = ClassArchive.jarsFirst(classPath);
        List<String> command = new ArrayList<>(List.of(java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        if (own) {
            command.addAll(ClassArchive.flags(java, jarsFirst));
        }
        command.addAll(LocaleOfTheClass.flags());
        if (!own || Runtime.version().feature() >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(List.of("-cp", jarsFirst));
        return command;
    }
}
