package io.hvd.launch.process;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What Open MPI leaves on this machine when it is not given the time to tidy up: shared-memory segments, and the
 * folder of its session. They are noted while the job lives, since only its processes tell which are theirs.
 */
final class Leftovers {

    private static final Pattern SEGMENT = Pattern.compile("(/\\S*/(?:vader|sm)_segment\\.\\S+)");

    private final Set<Path> files = new HashSet<>();

    /** @param environment mpirun's environment, which says where it keeps its files */
    Leftovers(ProcessHandle mpirun, List<ProcessHandle> family, Map<String, String> environment) {
        family.forEach(process -> addSegments(Path.of("/proc", Long.toString(process.pid()), "maps")));
        addSessions(Path.of(environment.getOrDefault("TMPDIR", "/tmp")), mpirun.pid());
    }

    /** Deletes the files. To be called when all processes of the job have ended. */
    void delete() {
        files.forEach(Leftovers::delete);
    }

    private void addSegments(Path maps) {
        try (Stream<String> lines = Files.lines(maps)) {
            lines.forEach(line -> SEGMENT.matcher(line).results().forEach(found -> files.add(Path.of(found.group(1)))));
        } catch (IOException | java.io.UncheckedIOException e) {
            return; // the process has ended
        }
    }

    /** ORTE has a folder per user with one for each mpirun in it, PRRTE one for each mpirun. */
    private void addSessions(Path folder, long pid) {
        try (DirectoryStream<Path> sessions = Files.newDirectoryStream(folder, "{ompi,prte,prterun}.*")) {
            var me = Files.getOwner(Path.of("/proc/self"));
            for (Path session : sessions) {
                if (!Files.isDirectory(session, LinkOption.NOFOLLOW_LINKS)
                        || !Files.getOwner(session, LinkOption.NOFOLLOW_LINKS).equals(me)) {
                    continue; // somebody else's, who may have laid it there for us
                }
                boolean ofPrrte = session.getFileName().toString().contains("." + pid + ".");
                files.add(ofPrrte ? session : session.resolve("pid." + pid));
            }
        } catch (IOException e) {
            return;
        }
    }

    private static void delete(Path root) {
        try (Stream<Path> all = Files.walk(root)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException | java.io.UncheckedIOException e) {
            return; // gone already, which is as it should be
        }
    }
}
