package io.hvd.examples.text;

import io.hvd.file.TextFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.commons.cli.ParseException;

/** Reads sentences with a label each from a text file: a line is the label, a tab, and the text. What cannot be seen counts in neither. */
final class LabelledSentences {
    private static final Pattern BETWEEN_WORDS = Pattern.compile("[^\\p{L}\\p{M}\\p{N}'\u200c\u200d]+");
    private static final Pattern MARKS_ALONE = Pattern.compile("[\\p{M}\u200c\u200d]*");
    private static final int LEAST = 20;

    private LabelledSentences() {}

    /** @throws ParseException that names the file, and the line where one has no label or no text */
    static List<Corpus.Sentence> of(Path file) throws ParseException {
        String flag = "--data " + file;
        List<Corpus.Sentence> sentences = new ArrayList<>();
        List<String> lines = lines(flag, file);
        for (int i = 0; i < lines.size(); i++) {
            if (!TextFile.clean(lines.get(i)).isEmpty()) {
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
            return TextFile.lines(file);
        } catch (IOException e) {
            throw new ParseException(flag + " cannot be read: " + e);
        }
    }

    private static Corpus.Sentence sentence(String flag, int number, String line) throws ParseException {
        int tab = line.indexOf('\t');
        List<String> words = tab < 0 ? List.of() : words(line.substring(tab + 1));
        String label = tab < 0 ? "" : TextFile.clean(line.substring(0, tab));
        if (label.isEmpty() || words.isEmpty()) {
            throw new ParseException(
                    flag + ", line " + number + ": found \"" + TextFile.shown(line) + "\", expected LABEL TAB TEXT");
        }
        return new Corpus.Sentence(label, words);
    }

    static List<String> words(String text) {
        return Stream.of(BETWEEN_WORDS.split(TextFile.clean(text).toLowerCase(Locale.ROOT)))
                .filter(word -> !MARKS_ALONE.matcher(word).matches())
                .toList();
    }
}
