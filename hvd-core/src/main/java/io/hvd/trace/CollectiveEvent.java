package io.hvd.trace;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** A collective in a recording of JDK Flight Recorder: begun by the thread that calls it, written by the one that ends it. */
@Name("hvd.Collective")
@Label("Collective")
@Category("hvd")
@Description("A collective of a rank, from its call to its end")
@StackTrace(false)
final class CollectiveEvent extends Event {
    static final int UNKNOWN = -1;

    @Label("Rank")
    int rank;

    @Label("Kind")
    @Description("Such as allreduce")
    String kind;

    @Label("Name")
    String name;

    @Label("Tensor")
    @Description("Element type and shape")
    String tensor;

    @Label("Bytes")
    @Description("The bytes that this rank's tensor has on its way to the other ranks")
    @DataAmount
    long bytes;

    @Label("Process Set")
    int processSet;

    @Label("Negotiated")
    @Description("False if it was a part of a static plan")
    boolean negotiated;

    @Label("Fused With")
    @Description("The first tensor of the batch in which it travelled; its own name if it was the first")
    String batch;

    @Label("Queued")
    @Description(
            "From the call until the data plane began; while the ranks negotiate this includes the wait for late ranks")
    @Timespan
    long queued;

    @Label("Last Rank")
    @Description("The rank that asked for it last; known on rank 0 and while the ranks negotiate, else -1")
    int lastRank = UNKNOWN;

    @Label("Caller")
    @Description("The thread that called it")
    String caller;

    @Label("Site")
    @Description("The line of the program")
    String site;

    @Label("Error")
    @Description("Why it failed, or empty")
    String error;

    /** Begins an event for a call that has just been made. */
    static CollectiveEvent of(int rank, Call call, long bytes) {
        CollectiveEvent event = new CollectiveEvent();
        event.begin();
        event.rank = rank;
        event.bytes = bytes;
        event.kind = call.operation().kind();
        event.name = call.operation().name();
        event.tensor = call.operation().detail();
        event.processSet = call.operation().processSet();
        event.caller = call.caller().getName();
        event.site = call.site();
        return event;
    }

    /** The data plane begins it. */
    void started(Call call, Call itsBatch, long nanos) {
        batch = itsBatch.operation().name();
        queued = nanos - call.submittedNanos();
    }

    void ended(Call call) {
        error = call.error();
        commit();
    }
}
