package io.hvd.launch;

import java.util.List;
import java.util.regex.Pattern;

/** Words of the mpirun line that belong together, and why they are there; without words it is a note on a decision. */
record Argument(List<String> words, String reason) {

    /** An assignment to a variable whose name says that its value is nobody's business. */
    private static final Pattern SECRET = Pattern.compile(
            "(\\w*(?:SECRET|PASSWORD|PASSWD|TOKEN|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)\\w*)=.*",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    static Argument of(String reason, String... words) {
        return new Argument(List.of(words), reason);
    }

    static Argument note(String reason) {
        return new Argument(List.of(), reason);
    }

    /** For a log. */
    Argument withoutSecrets() {
        return new Argument(
                words.stream()
                        .map(word -> SECRET.matcher(word).replaceFirst("$1=***"))
                        .toList(),
                reason);
    }
}
