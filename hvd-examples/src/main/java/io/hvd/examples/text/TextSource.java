package io.hvd.examples.text;

import io.hvd.HvdContext;
import io.hvd.file.RegularFile;
import io.hvd.file.TextFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.commons.cli.ParseException;

/**
 * The origin of each rank's text.
 *
 * @param file a file on the rank's own host; without one, the program writes sums in words
 * @param seed the seed of what the program writes
 */
record TextSource(Optional<Path> file, long seed) {
    private static final int WRITTEN_CHARACTERS = 60_000;

    /**
     * Reads the text, of which a byte order mark is no part; every rank calls it.
     *
     * @throws ParseException on every rank, with the same words, if a rank cannot read its file
     */
    Text read(HvdContext hvd) throws ParseException {
        return EveryRank.reads(hvd, this::find);
    }

    private Text find() throws ParseException {
        if (file.isEmpty()) {
            return Text.of(SumsInWords.of(WRITTEN_CHARACTERS, seed));
        }
        String flag = "--data-file " + file.get();
        Optional<String> pointer = RegularFile.recognise(file.get()).filter(what -> what.startsWith("is a pointer"));
        if (pointer.isPresent()) {
            throw new ParseException(flag + " " + pointer.get());
        }
        try {
            return Text.of(TextFile.read(file.get()));
        } catch (IOException e) {
            throw new ParseException(flag + " cannot be read: " + e);
        }
    }
}
