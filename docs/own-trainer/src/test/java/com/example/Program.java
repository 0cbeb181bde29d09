package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a main class in processes of its own and gives back what was printed. */
final class Program {
    private static final long LIMIT_SECONDS = 180;
    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();

    private Program() {}

    /** As a user starts it without mpirun. */
    static String alone(Class<?> main, String... args) throws Exception {
        return run(java(main.getName(), args));
    }

    static String jar(Path jar) throws Exception {
        return run(List.of(JAVA, "-jar", jar.toString()));
    }

    static String jarUnderMpirun(int ranks, Path jar) throws Exception {
        List<String> command = java("io.hvd.launch.Horovodrun", "-np", String.valueOf(ranks));
        command.addAll(List.of(JAVA, "-jar", jar.toString()));
        return run(command);
    }

    /** Under mpirun, through the launcher in hvd-launch, which knows what mpirun needs on this machine. */
    static String underMpirun(int ranks, Class<?> main, String... args) throws Exception {
        List<String> command = java("io.hvd.launch.Horovodrun", "-np", String.valueOf(ranks));
        command.addAll(java(main.getName(), args));
        return run(command);
    }

    private static List<String> java(String main, String... args) {
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        List<String> command = new ArrayList<>(List.of(JAVA, "-cp", classPath, main));
        command.addAll(List.of(args));
        return command;
    }

    private static String run(List<String> command) throws Exception {
        File log = File.createTempFile("own-trainer", ".log");
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(log)
                    .start();
            boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
            if (!ended) {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly().waitFor();
            }
            String output = Files.readString(log.toPath());
            assertTrue(ended, () -> command + " did not end within " + LIMIT_SECONDS + " s:\n" + output);
            assertEquals(0, process.exitValue(), () -> command + " failed:\n" + output);
            return output;
        } finally {
            Files.delete(log.toPath());
        }
    }
}
