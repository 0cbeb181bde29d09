package io.hvd.examples.image;

import io.hvd.examples.ExampleFailure;
import io.hvd.examples.Flags;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The flags of a series of checkpoints.
 *
 * @param folder empty if there is no series
 * @param every steps after which the next one is due
 * @param keep how many files stay
 * @param samples file for the indices that each rank trains on, with {@code -RANK} behind its name
 * @param sigtermExitCode how the program ends after a checkpoint that SIGTERM has asked for
 */
record CheckpointFlags(Optional<Path> folder, int every, int keep, Optional<Path> samples, int sigtermExitCode) {
    private static final String FOLDER = "checkpoint-dir";
    private static final String EVERY = "checkpoint-every";
    private static final String KEEP = "keep";
    private static final String SAMPLES = "record-samples";
    private static final String EXIT_CODE = "sigterm-exit-code";
    private static final int LARGEST_EXIT_CODE = 255;

    static void addTo(Options flags) {
        flags.addOption(Flags.valued(
                        FOLDER,
                        "folder of a series of checkpoints: the training goes on from the newest, with any number of"
                                + " ranks, and saves and ends at SIGTERM"))
                .addOption(Flags.valued(EVERY, "steps after which the next checkpoint is due, default 100"))
                .addOption(Flags.valued(KEEP, "number of checkpoints that stay in the folder, default 3"))
                .addOption(Flags.valued(
                        SAMPLES, "file for epoch, step and index of each sample; every rank adds -RANK to its name"))
                .addOption(
                        Flags.valued(
                                EXIT_CODE,
                                "exit code after SIGTERM, by which a scheduler knows that the training is to go on, default 0"));
    }

    static CheckpointFlags of(CommandLine line) throws ParseException {
        boolean isSeries = line.hasOption(FOLDER);
        for (String needing : List.of(EVERY, KEEP, SAMPLES, EXIT_CODE)) {
            if (line.hasOption(needing) && !isSeries) {
                throw new ParseException("--" + needing + " needs --" + FOLDER + " DIR");
            }
        }
        for (String other :
                List.of("checkpoint", "use-adasum", "backward-passes-per-step", "power-sgd", "top-k", "int8")) {
            if (isSeries && line.hasOption(other)) {
                throw new ParseException("--" + FOLDER + " and --" + other + " exclude each other");
            }
        }
        return new CheckpointFlags(
                Flags.path(line, FOLDER),
                Flags.count(line, EVERY, 100, 1),
                Flags.count(line, KEEP, 3, 1),
                Flags.path(line, SAMPLES),
                Flags.count(line, EXIT_CODE, 0, 0, LARGEST_EXIT_CODE));
    }

    /** Ends a program that SIGTERM has ended with the exit code that was asked for. */
    void leave() throws ExampleFailure {
        if (sigtermExitCode != 0) {
            throw new ExampleFailure("SIGTERM has come, and a checkpoint is written", sigtermExitCode);
        }
    }
}
