package io.hvd.testing;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The class-data archive of the JVMs that integration tests start: classes that one job has loaded are mapped by all later
 * ones instead of being parsed and verified in each. The first test that starts a job makes it; the build says where by the
 * system property {@code hvd.test.archive}. There is none where that is empty. What cannot be made is said once and done
 * without.
 */
public final class ClassArchive {
    private static final String PROPERTY = "hvd.test.archive";
    private static final String FLAG = "-XX:SharedArchiveFile=";
    private static final String AT_EXIT = "-XX:ArchiveClassesAtExit=";

    private static final String FIRST_JOB = "io.hvd.contract.GroupContractTest";
    private static final long LIMIT_SECONDS = 100;

    private static final Map<Path, List<String>> KNOWN = new HashMap<>();

    private ClassArchive() {}

    /** An archive is of jars only, and of use only where these come first, in the same order. */
    static String jarsFirst(String classPath) {
        return Stream.of(true, false)
                .flatMap(jars -> entries(classPath).filter(entry -> isJar(entry) == jars))
                .collect(Collectors.joining(":"));
    }

    /** For a JVM with this class path, which comes first in it. */
    static List<String> flags(String java, String classPath) {
        String file = System.getProperty(PROPERTY, "");
        boolean harness = classPath.contains("junit-platform-launcher"); // without it the first job cannot run
        if (file.isEmpty() || !harness) {
            return List.of();
        }
        Path archive = Path.of(file);
        return flags(archive, jars(classPath), unfinished -> make(java, classPath, unfinished));
    }

    /** For {@code java -jar} with the absolute path of a jar, which the first test runs once with these arguments. */
    public static List<String> flagsOfJar(String java, Path jar, String... args) {
        String file = System.getProperty(PROPERTY, "");
        if (file.isEmpty()) {
            return List.of();
        }
        Path archive = Path.of(file).resolveSibling(jar.getFileName() + ".jsa");
        List<String> words = new ArrayList<>(List.of(java, "", "-jar", jar.toString()));
        words.addAll(List.of(args));
        return flags(archive, List.of(jar.toString()), unfinished -> {
            words.set(1, AT_EXIT + unfinished);
            run(words);
        });
    }

    private static synchronized List<String> flags(Path archive, List<String> jars, Maker maker) {
        if (!KNOWN.containsKey(archive)) {
            try {
                makeUnlessThere(archive, jars, maker);
                KNOWN.put(archive, List.of(FLAG + archive));
            } catch (IOException e) {
                System.out.println("no class-data archive: " + e);
                KNOWN.put(archive, List.of());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return List.of();
            }
        }
        return KNOWN.get(archive);
    }

    private interface Maker {
        void make(Path unfinished) throws IOException, InterruptedException;
    }

    /**
     * A command without its flags where they do harm: of a program called java mpirun itself changes the class path, and a
     * JVM with another one would not even share the JDK's own classes.
     */
    static List<String> fitting(List<String> command) {
        boolean changed = command.get(0).equals("mpirun") && !command.contains("env");
        return changed ? command.stream().filter(word -> !word.startsWith(FLAG)).toList() : command;
    }

    /** Other JVMs of the same build wait for the first. */
    private static void makeUnlessThere(Path archive, List<String> jars, Maker maker)
            throws IOException, InterruptedException {
        Path lock = archive.resolveSibling(archive.getFileName() + ".lock");
        try (FileChannel channel = FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock held = channel.lock()) {
            if (!Files.exists(archive) || isOlderThanAJar(archive, jars)) {
                Path unfinished = archive.resolveSibling(archive.getFileName() + ".new");
                maker.make(unfinished);
                Files.move(unfinished, archive, StandardCopyOption.ATOMIC_MOVE);
            }
        }
    }

    private static boolean isOlderThanAJar(Path archive, List<String> jars) throws IOException {
        FileTime then = Files.getLastModifiedTime(archive);
        for (String jar : jars) {
            if (Files.getLastModifiedTime(Path.of(jar)).compareTo(then) > 0) {
                return true;
            }
        }
        return false;
    }

    /** One of two ranks puts what it has loaded into the archive as it ends, on top of the JDK's own one. */
    private static void make(String java, String classPath, Path unfinished) throws IOException, InterruptedException {
        List<String> begin = List.of("env", java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");
        List<String> rank = List.of("-cp", classPath, InsideMpirun.class.getName(), FIRST_JOB);
        List<String> words = new ArrayList<>(Mpirun.command(1));
        words.addAll(begin);
        words.addAll(rank);
        words.addAll(List.of(":", "-np", "1"));
        words.addAll(begin);
        words.add(AT_EXIT + unfinished);
        words.addAll(rank);
        run(words);
    }

    private static void run(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
            process.destroyForcibly();
            throw new IOException(String.join(" ", command) + " has failed or not ended in " + LIMIT_SECONDS + " s");
        }
    }

    private static List<String> jars(String classPath) {
        return entries(classPath).filter(ClassArchive::isJar).toList();
    }

    private static boolean isJar(String entry) {
        return entry.endsWith(".jar");
    }

    private static Stream<String> entries(String classPath) {
        return Arrays.stream(classPath.split(":"));
    }
}
