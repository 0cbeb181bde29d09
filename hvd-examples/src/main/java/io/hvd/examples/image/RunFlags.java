package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.examples.Flags;
import io.hvd.train.log.RunDescription;
import io.hvd.train.log.RunLog;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.ParseException;

/**
 * The flag of the record of a run.
 *
 * @param folder empty if no record is kept
 * @param resumes whether the training may go on with an earlier one, and so with its record
 * @param given the flags of the command line and their values, for comparisons of runs
 */
record RunFlags(Optional<Path> folder, boolean resumes, Map<String, String> given) {
    static final RunFlags NONE = new RunFlags(Optional.empty(), false, Map.of());

    private static final String FOLDER = "run-dir";
    /** Horovod's ImageNet example names its folder of curves so. */
    private static final String HOROVODS = "log-dir";

    static Option flag() {
        return Flags.valued(
                FOLDER,
                "folder for the record of this run, of which hvd-report makes a page; one that holds a run is refused"
                        + " unless the training resumes");
    }

    /** The flag by which Horovod's example names the folder. */
    static Option horovodsFlag() {
        return Flags.valued(HOROVODS, "the same as --" + FOLDER + ", as Horovod's example names it");
    }

    static RunFlags of(CommandLine line) throws ParseException {
        return of(line, line.hasOption("resume") || line.hasOption("checkpoint-dir"));
    }

    /** @param resumes whether the training goes on with an earlier one if it finds its files */
    static RunFlags of(CommandLine line, boolean resumes) throws ParseException {
        if (line.hasOption(FOLDER) && line.hasOption(HOROVODS)) {
            throw new ParseException("--" + FOLDER + " and --" + HOROVODS + " are the same flag: give one of them");
        }
        if (line.hasOption(FOLDER) && line.hasOption("evaluate")) {
            throw new ParseException("--" + FOLDER + " and --evaluate exclude each other");
        }
        Map<String, String> given = new TreeMap<>();
        for (Option option : line.getOptions()) {
            if (!FOLDER.equals(option.getLongOpt()) && !HOROVODS.equals(option.getLongOpt())) {
                given.put(option.getLongOpt(), option.hasArg() ? option.getValue() : "yes");
            }
        }
        return new RunFlags(Flags.path(line, line.hasOption(HOROVODS) ? HOROVODS : FOLDER), resumes, given);
    }

    /**
     * A collective if there is a folder.
     *
     * @param stepsDone batches that the training has behind it
     */
    Optional<RunLog> open(HvdContext hvd, String example, long stepsDone) {
        RunDescription description = new RunDescription(example, given);
        return folder.map(
                path -> resumes ? goingOn(hvd, path, description, stepsDone) : RunLog.open(hvd, path, description));
    }

    private static RunLog goingOn(HvdContext hvd, Path folder, RunDescription description, long stepsDone) {
        RunLog log = RunLog.resume(hvd, folder, description);
        log.goesOnAfter(stepsDone);
        return log;
    }
}
