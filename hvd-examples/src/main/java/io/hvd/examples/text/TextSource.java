package io.hvd.examples.text;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
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
        List<String> mistakes = hvd.allgatherObject("char_lm.data_file", mine.mistake, ObjectCodec.utf8());
        for (int rank = 0; rank < mistakes.size(); rank++) {
            if (!mistakes.get(rank).isEmpty()) {
                throw new ParseException(mistakes.get(rank) + ", on rank " + rank + " ("
                        + hvd.hosts().get(rank) + ")" + others(mistakes, rank));
            }
        }
        return mine.text;
    }

    private static String others(List<String> mistakes, int rank) {
        long more = mistakes.stream()
                .skip(rank + 1L)
                .filter(mistake -> !mistake.isEmpty())
                .count();
        return more == 0 ? "" : " and on " + more + " more of " + mistakes.size() + " ranks";
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
