package io.hvd.examples.finetune;

import java.util.Arrays;
import java.util.List;

/** What a transformer is adapted to. */
enum Task {
    /** Finds the category of a text. */
    CLASSIFY("label", "text"),
    /** Puts texts that belong together near each other. */
    PAIRS("text", "second"),
    /** Writes the next token. */
    LM("text");

    private final List<String> fields;

    Task(String... fields) {
        this.fields = List.of(fields);
    }

    /** The fields of a sample that it needs, in the order of a TSV file. */
    List<String> fields() {
        return fields;
    }

    String word() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }

    static List<String> words() {
        return Arrays.stream(values()).map(Task::word).toList();
    }
}
