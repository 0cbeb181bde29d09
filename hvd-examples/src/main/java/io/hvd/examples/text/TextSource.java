package io.hvd.examples.text;

import io.hvd.HvdContext;
import io.hvd.examples.training.RankMistakes;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.commons.cli.ParseException;

/**
 * Where each rank has its text from.
 *
 * @param file a file on the rank's own host; without one, the program writes sums in words
 * @param seed the seed of what the program writes
 */
record TextSource(Optional<Path> file, long seed) {
    private static final int WRITTEN_CHARACTERS = 60_000;

    /** What a rank has read. @param text null if there is a mistake @param mistake empty if there is none */
    private record Found(Text text, String mistake) {}

    /**
     * Reads the text; every rank calls it.
     *
     * @throws ParseException on every rank, with the same words, if a rank cannot read its file
     */
    Text read(HvdContext hvd) throws ParseException {
        Found mine = find();
        RankMistakes.requireNone(hvd, mine.mistake);
        return mine.text;
    }

    private Found find() {
        if (file.isEmpty()) {
            return new Found(Text.of(SumsInWords.of(WRITTEN_CHARACTERS, seed)), "");
        }
        String flag = "--data-file " + file.get();
        try {
            return new Found(Text.of(Files.readString(file.get())), "");
        } catch (CharacterCodingException e) {
            return new Found(null, flag + " is not a text in UTF-8: " + e);
        } catch (IOException e) {
            return new Found(null, flag + " cannot be read: " + e);
        }
    }
}
