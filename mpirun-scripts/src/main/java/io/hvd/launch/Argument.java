package io.hvd.launch;

import java.util.List;

/** Words of the mpirun line that belong together, and why they are there; without words it is a note on a decision. */
record Argument(List<String> words, String reason) {

    static Argument of(String reason, String... words) {
        return new Argument(List.of(words), reason);
    }

    static Argument note(String reason) {
        return new Argument(List.of(), reason);
    }

    /** For a log. */
    Argument withoutSecrets() {
        return new Argument(SecretWords.hidden(words), reason);
    }
}
