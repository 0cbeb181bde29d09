package io.hvd.timeline;

import io.hvd.file.JsonObject;

/** The objects of a trace file. */
final class TraceJson {
    /**
     * The longest text. An event with three texts must fit into a block of the file, even if all characters are
     * escaped.
     */
    private static final int LONGEST_TEXT = 200;

    private TraceJson() {}

    static JsonObject object() {
        return JsonObject.withTextsUpTo(LONGEST_TEXT);
    }
}
