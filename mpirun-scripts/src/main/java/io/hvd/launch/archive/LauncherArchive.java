package io.hvd.launch.archive;

import io.hvd.launch.jvm.JavaLine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The class-data archive of horovodrun's own JVM, with whose start every job begins. The script horovodrun starts this JVM
 * with the archive to which a file of a fixed name leads, or has it list its classes where there is no such file. When a job
 * has ended well, a process of its own makes the archive of that list, as it does for programs ({@link ClassArchive}).
 *
 * @param link the file that leads to the archive
 * @param listing what the script has asked for where there is no such file; empty if it has started this JVM with an archive
 */
public record LauncherArchive(Path link, Optional<Listing> listing) {

    /**
     * A list of classes for a new archive.
     *
     * @param recording the folder in which this JVM lists its classes
     * @param refusal the file for the script to see that it need not ask again while the user's variables are the same
     */
    record Listing(Path recording, Path refusal) {}

    private static final String LINK = "hvd.launcher.archive";
    private static final String RECORDING = "hvd.launcher.recording";
    private static final String REFUSAL = "hvd.launcher.refusal";

    /** Jobs of all kinds load nearly the same classes here. */
    private static final String SUBCOMMAND = "run";

    /** As the script has told it; empty where another one has started this JVM, or there is to be no archive. */
    public static Optional<LauncherArchive> ofThisJvm() {
        Optional<Listing> listing =
                path(RECORDING).flatMap(recording -> path(REFUSAL).map(refusal -> new Listing(recording, refusal)));
        return path(LINK).map(link -> new LauncherArchive(link, listing));
    }

    /** Whether this JVM lists its classes for a new archive. */
    public boolean isToBeMade() {
        return listing.isPresent();
    }

    private static Optional<Path> path(String property) {
        return Optional.ofNullable(System.getProperty(property)).map(Path::of);
    }

    /** This JVM as a program; empty where variables of the user's speak against an archive. */
    public static Optional<ArchivedProgram> program(Map<String, String> environment) {
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                LauncherArchive.class.getName());
        return JavaLine.of(command, environment)
                .flatMap(line -> ArchivedProgram.of(
                                line, environment, Path.of("").toAbsolutePath())
                        .program());
    }

    /**
     * A job is over. If this JVM has listed its classes, they are made an archive. If the archive does not fit any more, the
     * next start lists them.
     *
     * @param program this JVM
     * @param waits whether this returns only when a new archive is there
     */
    public void after(int exitCode, ArchivedProgram program, Map<String, String> environment, boolean waits) {
        var folder = new ArchiveFolder(link.getParent(), Clock.systemUTC());
        if (new ArchiveLink(link).leadsTo(program, folder)) {
            folder.touch(program);
        } else if (listing.isEmpty()) {
            delete(link);
        } else if (exitCode == 0) {
            new ArchiveOrder(listing.get().recording(), SUBCOMMAND, program, Optional.of(link))
                    .place(environment, waits);
            return;
        }
        forget();
    }

    /** Remembers for the script that no archive can be made with the user's variables as they are. */
    public void refuse() {
        try {
            if (listing.isPresent()) {
                new ArchiveFolder(link.getParent(), Clock.systemUTC())
                        .refuse(listing.get().refusal());
            }
        } catch (IOException e) {
            return; // the next start tries again
        } finally {
            forget();
        }
    }

    private static void delete(Path link) {
        try {
            Files.deleteIfExists(link);
        } catch (IOException e) {
            return; // this user has no right to, and starts without an archive
        }
    }

    /** Throws away what was listed: a start that runs no job loads too few classes. */
    public void forget() {
        listing.map(Listing::recording).ifPresent(ClassLists::discard);
    }
}
