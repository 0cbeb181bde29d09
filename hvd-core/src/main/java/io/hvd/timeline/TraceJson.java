package io.hvd.timeline;

import io.hvd.file.JsonObject;

/** The objects of a trace file. */
final class TraceJson {
    /** An event must fit into a block of the file, with three texts of nothing but characters that are escaped. */
    private static final int LONGEST_TEXT = 200;

    private TraceJson() {}

    static JsonObject object() {
        return JsonObject.withTextsUpTo(LONGEST_TEXT);
    }
}
