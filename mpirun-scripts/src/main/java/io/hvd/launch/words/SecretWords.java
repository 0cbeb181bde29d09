package io.hvd.launch.words;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Puts asterisks in place of values whose names say that they are nobody's business, in words that are shown. */
public final class SecretWords {

    private static final String NAME =
            "[\\w.-]*(?:SECRET|PASSWORD|PASSWD|PASSPHRASE|TOKEN|CREDENTIAL|KEY|(?<![A-Z])AWS_)[\\w.-]*";
    private static final int FLAGS = Pattern.CASE_INSENSITIVE | Pattern.DOTALL;
    private static final Pattern ASSIGNMENT = Pattern.compile("(" + NAME + ")=.*", FLAGS);
    private static final Pattern FLAG = Pattern.compile("--?" + NAME, FLAGS);

    private SecretWords() {}

    /** {@code NAME=value} in a word, and the word behind a flag {@code --name}. */
    public static List<String> hidden(List<String> words) {
        List<String> shown = new ArrayList<>();
        boolean isValue = false;
        for (String word : words) {
            shown.add(isValue && !word.startsWith("-") ? "***" : hidden(word));
            isValue = FLAG.matcher(word).matches();
        }
        return shown;
    }

    /** Hides secrets in a text that holds one assignment or several: the first secret one hides all that follows. */
    public static String hidden(String text) {
        return ASSIGNMENT.matcher(text).replaceFirst("$1=***");
    }
}
