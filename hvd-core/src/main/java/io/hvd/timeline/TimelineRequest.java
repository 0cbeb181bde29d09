package io.hvd.timeline;

import io.hvd.config.TimelineSettings;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;

/**
 * The timeline that the settings of a rank ask for; rank 0's request decides.
 *
 * @param atOnce whether a timeline starts with the job
 * @param dynamic whether the program may start and end timelines
 * @param markCycles whether cycles are marked
 */
record TimelineRequest(boolean atOnce, boolean dynamic, boolean markCycles) {
    static TimelineRequest by(TimelineSettings settings) {
        return new TimelineRequest(settings.file().isPresent(), settings.dynamic(), settings.markCycles());
    }

    byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeBoolean(atOnce);
            out.writeBoolean(dynamic);
            out.writeBoolean(markCycles);
        });
    }

    static TimelineRequest decode(byte[] bytes) {
        return MessageReader.decode(
                "what a rank wants of the timeline",
                bytes,
                in -> new TimelineRequest(in.readBoolean(), in.readBoolean(), in.readBoolean()));
    }
}
