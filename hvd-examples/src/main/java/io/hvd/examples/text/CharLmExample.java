package io.hvd.examples.text;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** A language model of characters, on a text file or on sums in words that the program writes. */
public final class CharLmExample implements Example {
    private static final int WRITTEN_CHARACTERS = 60_000;

    @Override
    public String name() {
        return "char-lm";
    }

    @Override
    public String summary() {
        return "an LSTM that learns to write, on a text file or on sums in words that the program writes";
    }

    @Override
    public Options flags() {
        return CharOptions.flags();
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        CharOptions options = CharOptions.from(line);
        return hvd -> new CharTraining(hvd, options, text(options)).run();
    }

    private static Text text(CharOptions options) throws IOException, ParseException {
        if (options.data().isEmpty()) {
            return Text.of(SumsInWords.of(WRITTEN_CHARACTERS, options.seed()));
        }
        Path file = options.data().get();
        try {
            return Text.of(Files.readString(file));
        } catch (CharacterCodingException e) {
            throw new ParseException("--data-file " + file + " is not a text in UTF-8: " + e);
        } catch (IOException e) {
            throw new ParseException("--data-file " + file + " cannot be read: " + e);
        }
    }
}
