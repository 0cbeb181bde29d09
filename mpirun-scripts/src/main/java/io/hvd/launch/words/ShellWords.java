package io.hvd.launch.words;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Splits a line into words as a shell does (quotes, backslash; no expansion), and quotes words for one. */
public final class ShellWords {

    private static final Pattern PLAIN = Pattern.compile("[\\w@%+=:,./^-]+");

    private ShellWords() {}

    /** @param flag that the line is the value of, for the message */
    public static List<String> split(String flag, String line) {
        List<String> words = new ArrayList<>();
        StringBuilder word = null;
        char quote = 0;
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (quote == 0 && Character.isWhitespace(c)) {
                if (word != null) {
                    words.add(word.toString());
                    word = null;
                }
                continue;
            }
            word = word == null ? new StringBuilder() : word;
            if (quote == 0 && (c == '"' || c == '\'')) {
                quote = c;
            } else if (c == quote) {
                quote = 0;
            } else if (c == '\\' && quote != '\'' && i + 1 < line.length()) {
                word.append(line.charAt(++i));
            } else {
                word.append(c);
            }
        }
        if (quote != 0) {
            throw new UsageException(
                    "open-quote",
                    flag + ": a " + quote + " is opened and never closed in: " + SecretWords.hidden(line));
        }
        if (word != null) {
            words.add(word.toString());
        }
        return List.copyOf(words);
    }

    /** A line that a POSIX shell divides into just these words. */
    public static String join(List<String> words) {
        return words.stream().map(ShellWords::quote).collect(Collectors.joining(" "));
    }

    private static String quote(String word) {
        return PLAIN.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
