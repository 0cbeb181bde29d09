package io.hvd.launch.archive;

import io.hvd.config.LauncherSettings.ArchiveChoice;
import io.hvd.launch.jvm.InstalledJava;
import io.hvd.launch.jvm.JavaLine;
import io.hvd.launch.line.CommandCheck;
import io.hvd.launch.line.LaunchFacts;
import io.hvd.launch.words.Argument;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The part that the class-data archive of a program has in a start: the one that is there is used, and if there is none, or none
 * with this subcommand's classes, the ranks list the classes that they load, and after the job a process of its own makes the
 * archive. Whatever fails here costs time and nothing else.
 *
 * @param why in words, for the dry run
 * @param archive the file that the ranks' JVMs map
 * @param recording the folder in which they write lists of classes
 */
public record ClassArchive(
        String why,
        Optional<Path> archive,
        Optional<Path> recording,
        Optional<ArchivedProgram> program,
        String subcommand) {

    private static final String USE = "-XX:SharedArchiveFile=";
    private static final String RECORD = "-XX:DumpLoadedClassList=";

    /** One list per process; the JVM puts its number there. */
    private static final String LIST = "%p.txt";

    public static ClassArchive none(String why) {
        return new ClassArchive(why, Optional.empty(), Optional.empty(), Optional.empty(), "");
    }

    /**
     * Looks at what there is.
     *
     * @param starts whether ranks are going to be started; a dry run makes no folder
     */
    public static ClassArchive look(
            LaunchFacts job, JavaLine line, ArchiveFolder folder, Path directory, boolean starts) {
        if (job.settings().java().archive() == ArchiveChoice.OFF) {
            return none("no class-data archive: turned off");
        }
        if (!job.allRanksHere() || CommandCheck.isElsewhere(job.settings())) {
            return none("no class-data archive: ranks run on other hosts or from another folder");
        }
        ArchivedProgram.Answer answer = ArchivedProgram.of(
                asStarted(job, line, directory), job.machine().environment(), directory);
        if (answer.program().isEmpty()) {
            return none("no class-data archive: " + answer.why());
        }
        return look(answer.program().get(), line.subcommand(), folder, starts);
    }

    /** With the flag that the rank's command gets: a JVM of another flag prints an error about the archive. */
    private static JavaLine asStarted(LaunchFacts job, JavaLine line, Path directory) {
        if (!job.settings().java().flags()) {
            return line;
        }
        Map<String, String> environment = job.machine().environment();
        return InstalledJava.of(line.program(), environment, directory)
                .flatMap(java -> InstalledJava.nativeAccess(java.release()))
                .flatMap(flag -> JavaLine.of(line.with(List.of(flag)), environment))
                .orElse(line);
    }

    private static ClassArchive look(ArchivedProgram program, String subcommand, ArchiveFolder folder, boolean starts) {
        if (starts) {
            ClassLists.clear(folder.path(), folder.clock());
        }
        Optional<KnownArchive> known = folder.known(program);
        Optional<Path> archive = known.flatMap(KnownArchive::file);
        if (known.isPresent() && known.get().has(subcommand)) {
            if (starts) {
                folder.touch(program);
            }
            return archive.isPresent()
                    ? new ClassArchive(
                            "java gets the class-data archive that an earlier start has made",
                            archive,
                            Optional.empty(),
                            Optional.empty(),
                            "")
                    : none("no class-data archive: the JVM has refused to make one of this class path");
        }
        Optional<Path> recording = starts ? folder.newRecording() : Optional.empty();
        String why = starts && recording.isEmpty()
                ? "no class-data archive is made: its folder cannot be written, or others can write there"
                : "java lists the classes that it loads; after the job a class-data archive is made of them for the next starts";
        return new ClassArchive(why, archive, recording, Optional.of(program), subcommand);
    }

    /** Words for java, and why. */
    public Argument forJava() {
        List<String> words = Stream.concat(
                        archive.map(file -> USE + file).stream(),
                        recording.map(folder -> RECORD + folder.resolve(LIST)).stream())
                .toList();
        return new Argument(words, why);
    }

    /**
     * The job is over. If it has ended well, the archive is made by a process of its own. The lists of a job that has failed
     * may lack most classes.
     *
     * @param waits whether this returns only when the archive is there
     */
    public void after(int exitCode, Map<String, String> environment, boolean waits) {
        if (recording.isEmpty() || program.isEmpty()) {
            return;
        }
        if (exitCode == 0) {
            new ArchiveOrder(recording.get(), subcommand, program.get(), Optional.empty()).place(environment, waits);
        } else {
            ClassLists.discard(recording.get());
        }
    }
}
