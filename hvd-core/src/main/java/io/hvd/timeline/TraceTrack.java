package io.hvd.timeline;

import io.hvd.file.JsonObject;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** One line of the timeline, such as the nested slices of one tensor on one rank. */
final class TraceTrack {
    private final int pid;
    private final int tid;
    private final List<String> out;
    private final Deque<String> open = new ArrayDeque<>();
    private long latest;

    /**
     * @param pid number of the group of lines
     * @param tid number of the line
     * @param out the list to which the events are added
     */
    TraceTrack(int pid, int tid, List<String> out) {
        this.pid = pid;
        this.tid = tid;
        this.out = out;
    }

    boolean isOpen() {
        return !open.isEmpty();
    }

    boolean isOpen(String slice) {
        return open.contains(slice);
    }

    /** @param args null for none */
    void begin(String slice, long nanos, JsonObject args) {
        open.push(slice);
        JsonObject event = event(slice, "B").putThousandths("ts", forward(nanos));
        out.add((args == null ? event : event.put("args", args)).toString());
    }

    /** Ends the innermost slice. */
    void end(long nanos) {
        out.add(event(open.pop(), "E").putThousandths("ts", forward(nanos)).toString());
    }

    /** Ends all slices; the outermost one gets the arguments, if there are any. */
    void endAll(long nanos, JsonObject args) {
        while (open.size() > 1) {
            end(nanos);
        }
        if (!open.isEmpty()) {
            JsonObject event = event(open.pop(), "E").putThousandths("ts", forward(nanos));
            out.add((args == null ? event : event.put("args", args)).toString());
        }
    }

    /** A slice whose end is known. @param args null for none */
    void slice(String name, long from, long to, JsonObject args) {
        long begin = forward(from);
        latest = Math.max(latest, to);
        JsonObject event = event(name, "X").putThousandths("ts", begin).putThousandths("dur", Math.max(0, to - begin));
        out.add((args == null ? event : event.put("args", args)).toString());
    }

    /** A moment. @param scope how far a viewer draws its line: "g" through all groups, "p" through this one */
    void mark(String name, String scope, long nanos) {
        out.add(event(name, "i")
                .put("s", scope)
                .putThousandths("ts", forward(nanos))
                .toString());
    }

    private JsonObject event(String name, String phase) {
        return TraceJson.object()
                .put("name", name)
                .put("ph", phase)
                .put("pid", pid)
                .put("tid", tid);
    }

    /**
     * The time of an event, but not before that of the event before: otherwise viewers would nest slices wrongly. Times
     * can go backwards by the few microseconds by which a clock is corrected now and then.
     */
    private long forward(long nanos) {
        latest = Math.max(latest, nanos);
        return latest;
    }
}
