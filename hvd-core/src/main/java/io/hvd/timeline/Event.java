package io.hvd.timeline;

/**
 * An event on a rank.
 *
 * @param from when it began; on the way to rank 0 it is converted to rank 0's time
 * @param to when it was over; the same as {@code from} if it took no time
 * @param number the process set's number, or what the kind says
 * @param name the tensor's name
 * @param what and {@code text}: see the kind
 */
record Event(Kind kind, long from, long to, int number, String name, String what, String text) {
    /** The length beyond which texts are cut: no viewer shows more, and thousands of events travel in one message. */
    private static final int LONGEST_TEXT = 4000;

    Event {
        name = cut(name);
        what = cut(what);
        text = cut(text);
    }

    static Event at(Kind kind, long nanos) {
        return new Event(kind, nanos, nanos, 0, "", "", "");
    }

    Event shifted(long nanos) {
        return new Event(kind, from + nanos, to + nanos, number, name, what, text);
    }

    private static String cut(String text) {
        return text.length() <= LONGEST_TEXT ? text : text.substring(0, LONGEST_TEXT - 3) + "...";
    }

    enum Kind {
        /** what: the operation, such as {@code allreduce}; text: type and shape. */
        SUBMITTED,
        /** Goes to rank 0 for negotiation; what: the operation. */
        ANNOUNCED,
        /** Belongs to a static plan and is not negotiated; what: the operation. */
        PLANNED,
        /** Recorded on rank 0 only; what: the operation; text: the rank that has asked for it. */
        READY,
        /** what: the operation; text: the tensor under whose name the batch's activities are reported. */
        STARTED,
        /** what: its name. */
        ACTIVITY,
        /** Work of a GPU on a batch; what: its name; text: the GPU. */
        ON_DEVICE,
        /** what: the error, or empty; text: type and shape. */
        ENDED,
        /** text: the thread that waited. */
        WAITED,
        CYCLE,
        STEP
    }
}
