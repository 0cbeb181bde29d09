package io.hvd.timeline;

import io.hvd.config.TimelineSettings;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;

/**
 * What the settings of a rank ask for; rank 0's count.
 *
 * @param atOnce whether a timeline starts with the job
 * @param dynamic whether the program may start and end timelines
 * @param markCycles whether cycles are marked
 */
record Wanted(boolean atOnce, boolean dynamic, boolean markCycles) {
    static Wanted by(TimelineSettings settings) {
        return new Wanted(settings.file().isPresent(), settings.dynamic(), settings.markCycles());
    }

    byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeBoolean(atOnce);
            out.writeBoolean(dynamic);
            out.writeBoolean(markCycles);
        });
    }

    static Wanted decode(byte[] bytes) {
        return MessageReader.decode(
                "what a rank wants of the timeline",
                bytes,
                in -> new Wanted(in.readBoolean(), in.readBoolean(), in.readBoolean()));
    }
}
