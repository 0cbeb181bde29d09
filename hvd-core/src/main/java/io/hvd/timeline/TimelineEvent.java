package io.hvd.timeline;

/**
 * An event on a rank.
 *
 * @param from when it began; on the way to rank 0 it is converted to rank 0's time
 * @param to when it was over; the same as {@code from} if it took no time
 * @param processSet the number of the tensor's process set; 0 without a tensor
 * @param name the tensor's name; empty without a tensor
 * @param label what the event is called or is about; its kind says which
 * @param detail more about it; its kind says what
 */
record TimelineEvent(Kind kind, long from, long to, int processSet, String name, String label, String detail) {
    /** The length beyond which texts are cut: no viewer shows more, and thousands of events travel in one message. */
    private static final int LONGEST_TEXT = 4000;

    TimelineEvent {
        name = cut(name);
        label = cut(label);
        detail = cut(detail);
    }

    static TimelineEvent at(Kind kind, long nanos) {
        return new TimelineEvent(kind, nanos, nanos, 0, "", "", "");
    }

    TimelineEvent shifted(long nanos) {
        return new TimelineEvent(kind, from + nanos, to + nanos, processSet, name, label, detail);
    }

    private static String cut(String text) {
        return text.length() <= LONGEST_TEXT ? text : text.substring(0, LONGEST_TEXT - 3) + "...";
    }

    enum Kind {
        /** label: the operation, such as {@code allreduce}; detail: type and shape. */
        SUBMITTED,
        /** Goes to rank 0 for negotiation; label: the operation. */
        ANNOUNCED,
        /** Belongs to a static plan and is not negotiated; label: the operation. */
        PLANNED,
        /** Recorded on rank 0 only; label: the operation; detail: the rank that has asked for it. */
        READY,
        /** label: the operation; detail: the tensor under whose name the batch's activities are reported. */
        STARTED,
        /** label: the activity's name. */
        ACTIVITY,
        /** Work of a GPU on a batch; label: the work's name; detail: the GPU. */
        ON_DEVICE,
        /** label: the error, or empty; detail: type and shape. */
        ENDED,
        /** detail: the thread that waited. */
        WAITED,
        /** The garbage collector has stopped the whole process; label: its reason. */
        PAUSED,
        CYCLE,
        STEP
    }
}
