package io.hvd.launch.line;

import io.hvd.launch.jvm.InstalledJava;
import io.hvd.launch.jvm.JavaLine;
import io.hvd.launch.words.Argument;
import io.hvd.launch.words.HydraRank;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The command of a rank as it is started: with flags for its JVM, and behind the script that copies its output into files.
 *
 * @param notes what is not as the user has typed it, and why
 */
public record RankCommand(List<String> words, List<Argument> notes) {

    /**
     * The command of a job's ranks.
     *
     * @param archive words for java about its class-data archive, and why
     * @param installed the Java of the command, if it is one and this machine has it
     */
    public static RankCommand of(LaunchFacts job, Argument archive, Optional<InstalledJava> installed) {
        List<Argument> notes = new ArrayList<>();
        List<String> words = withJvmFlags(job, notes, archive, installed);
        Optional<String> output = job.settings().output().directory();
        if (output.isPresent()) {
            notes.add(Argument.note("the command is started by a script that copies its output to " + output.get()
                    + "/rank.N/stdout and stderr"));
            words = RankOutput.around(words, output.get(), job.settings().ranks());
        }
        if (job.version().startsWithHydra()) {
            notes.add(Argument.note("the command is started by a shell that tells how it ends, which Hydra does not"));
            words = HydraRank.around(words);
        }
        return new RankCommand(words, notes);
    }

    private static List<String> withJvmFlags(
            LaunchFacts job, List<Argument> notes, Argument archive, Optional<InstalledJava> installed) {
        Optional<JavaLine> java =
                JavaLine.of(job.settings().command(), job.machine().environment());
        if (java.isEmpty()) {
            return job.settings().command();
        }
        List<String> flags = new ArrayList<>();
        List<Argument> ours = new ArrayList<>(JvmFlags.of(job, java.get()));
        if (job.settings().java().flags()) {
            installed.flatMap(InstalledJava::nativeAccess).ifPresent(ours::add);
        }
        for (Argument flag : ours) {
            flags.addAll(flag.words());
            notes.add(Argument.note("java gets " + String.join(" ", flag.words()) + ": " + flag.reason()));
        }
        flags.addAll(archive.words());
        if (!archive.reason().isEmpty()) {
            notes.add(Argument.note(archive.reason()));
        }
        return java.get().with(flags);
    }
}
