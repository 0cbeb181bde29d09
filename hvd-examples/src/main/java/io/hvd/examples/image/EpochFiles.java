package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.ParseException;

/** Checkpoints with a file for each epoch. @param pattern the files' name, with {@value #EPOCH} in it */
record EpochFiles(String pattern) {
    /** Nothing is saved. */
    static final String NONE = "none";

    static final String USUAL = "./checkpoint-{epoch}.safetensors";
    private static final String EPOCH = "{epoch}";

    /** @param byDefault the value of a flag that is not given @return empty if the value is {@value #NONE} */
    static Optional<EpochFiles> of(CommandLine line, String flag, String byDefault) throws ParseException {
        String pattern = line.getOptionValue(flag, byDefault);
        if (pattern.equals(NONE)) {
            return Optional.empty();
        }
        if (!pattern.contains(EPOCH)) {
            throw new ParseException("--" + flag + " is \"" + pattern + "\", expected " + NONE + " or a file name with "
                    + EPOCH + " in it, such as " + USUAL);
        }
        return Optional.of(new EpochFiles(pattern));
    }

    /** @param epochs that are done */
    Path file(int epochs) {
        return Path.of(pattern.replace(EPOCH, String.valueOf(epochs)));
    }

    /**
     * The highest number of epochs of which there is a file. Rank 0 looks for it and tells the others; every rank calls it.
     *
     * @param most the number with which the search begins
     * @return 0 if there is no file
     */
    int newest(HvdContext hvd, int most) {
        int found = hvd.rank() == 0 ? look(most) : 0;
        return Integer.parseInt(hvd.broadcastObject("resume.epochs", String.valueOf(found), ObjectCodec.utf8(), 0));
    }

    private int look(int most) {
        int epochs = most;
        while (epochs > 0 && !Files.exists(file(epochs))) {
            epochs--;
        }
        return epochs;
    }
}
