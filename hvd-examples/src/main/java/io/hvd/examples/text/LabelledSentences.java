package io.hvd.examples.text;

import io.hvd.file.RegularFile;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.commons.cli.ParseException;

/** Reads sentences with a label each from a text file: a line is the label, a tab, and the text. */
final class LabelledSentences {
    private static final Pattern BETWEEN_WORDS = Pattern.compile("[^\\p{L}\\p{N}']+");
    private static final int LEAST = 20;

    private LabelledSentences() {}

    /** @throws ParseException that names the file, and the line where one has no label or no text */
    static List<Corpus.Sentence> of(Path file) throws ParseException {
        String flag = "--data " + file;
        List<Corpus.Sentence> sentences = new ArrayList<>();
        List<String> lines = lines(flag, file);
        for (int i = 0; i < lines.size(); i++) {
            if (!lines.get(i).isBlank()) {
                sentences.add(sentence(flag, i + 1, lines.get(i)));
            }
        }
        long labels = sentences.stream().map(Corpus.Sentence::label).distinct().count();
        if (sentences.size() < LEAST || labels < 2) {
            throw new ParseException(flag + " has " + sentences.size() + " sentences with " + labels
                    + " different labels, expected at least " + LEAST + " with 2");
        }
        return sentences;
    }

    private static List<String> lines(String flag, Path file) throws ParseException {
        try {
            return Files.readAllLines(file);
        } catch (CharacterCodingException e) {
            throw new ParseException(flag + " is not a text in UTF-8: " + e + RegularFile.inWords(file));
        } catch (IOException e) {
            throw new ParseException(flag + " cannot be read: " + e);
        }
    }

    private static Corpus.Sentence sentence(String flag, int number, String line) throws ParseException {
        int tab = line.indexOf('\t');
        List<String> words = tab < 0 ? List.of() : words(line.substring(tab + 1));
        if (tab < 1 || words.isEmpty()) {
            throw new ParseException(flag + ", line " + number + ": found \"" + line + "\", expected LABEL TAB TEXT");
        }
        return new Corpus.Sentence(line.substring(0, tab), words);
    }

    static List<String> words(String text) {
        return Stream.of(BETWEEN_WORDS.split(text.toLowerCase(Locale.ROOT)))
                .filter(word -> !word.isEmpty())
                .toList();
    }
}
