package io.hvd.launch.archive;

import io.hvd.launch.mpi.MpiInstall;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * What a process that makes an archive is told. It has a session of its own, and so outlives the launcher that starts it.
 *
 * @param recording the folder of the lists of classes, in the folder of archives
 * @param link the file that is to lead to the archive; empty if there is none
 */
record ArchiveOrder(Path recording, String subcommand, ArchivedProgram program, Optional<Path> link) {

    private static final File NOTHING = new File("/dev/null");

    /** Recording, subcommand, link, java, class path, and the flags. */
    private static final int FIRST_FLAG = 5;

    /**
     * Starts the process. Where it cannot be started, a later job tries again.
     *
     * @param waits whether this returns only when it has ended
     */
    void place(Map<String, String> environment, boolean waits) {
        String classPath = System.getProperty("java.class.path", "");
        try {
            if (classPath.isEmpty()) {
                ClassLists.delete(recording);
                return;
            }
            Files.setLastModifiedTime(
                    recording, FileTime.from(Instant.now())); // the process that takes it over has another number
            Process maker = new ProcessBuilder(command(classPath, environment))
                    .redirectInput(NOTHING)
                    .redirectErrorStream(true)
                    .redirectOutput(NOTHING)
                    .start();
            if (waits) {
                maker.waitFor(2 * ArchiveMaker.LIMIT.toMillis(), TimeUnit.MILLISECONDS);
            }
        } catch (IOException e) {
            return;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private List<String> command(String classPath, Map<String, String> environment) {
        List<String> words = new ArrayList<>();
        MpiInstall.onPath("setsid", environment).ifPresent(setsid -> words.add(setsid.toString()));
        MpiInstall.onPath("nice", environment).ifPresent(nice -> words.addAll(List.of(nice.toString(), "-n", "19")));
        words.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                classPath,
                ArchiveMaker.class.getName()));
        words.addAll(words());
        return words;
    }

    List<String> words() {
        List<String> words = new ArrayList<>(List.of(
                recording.toString(),
                subcommand,
                link.map(Path::toString).orElse(""),
                program.java().toString(),
                program.classPath()));
        words.addAll(program.flags());
        return words;
    }

    static ArchiveOrder of(String... words) {
        List<String> jars = List.of(words[4].split(File.pathSeparator));
        List<String> flags = Arrays.asList(words).subList(FIRST_FLAG, words.length);
        return new ArchiveOrder(
                Path.of(words[0]),
                words[1],
                new ArchivedProgram(Path.of(words[3]), List.copyOf(flags), jars),
                words[2].isEmpty() ? Optional.empty() : Optional.of(Path.of(words[2])));
    }
}
