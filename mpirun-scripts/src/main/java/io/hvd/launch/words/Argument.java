package io.hvd.launch.words;

import java.util.List;

/** Words of the mpirun line that belong together, and why they are there; without words it is a note on a decision. */
public record Argument(List<String> words, String reason) {

    public static Argument of(String reason, String... words) {
        return new Argument(List.of(words), reason);
    }

    public static Argument note(String reason) {
        return new Argument(List.of(), reason);
    }

    /** For a log. */
    public Argument withoutSecrets() {
        return new Argument(SecretWords.hidden(words), reason);
    }
}
