package io.hvd.trace;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** A collective that waits too long, in a recording of JDK Flight Recorder. */
@Name("hvd.Stall")
@Label("Stall")
@Category("hvd")
@Description("A collective for which ranks have waited longer than HOROVOD_STALL_CHECK_TIME_SECONDS")
@StackTrace(false)
final class StallEvent extends Event {
    @Label("Rank")
    @Description("The rank that has found it")
    int rank;

    @Label("Collective")
    String collective;

    @Label("Waiting Ranks")
    String waiting;

    @Label("Missing Ranks")
    String missing;

    @Label("Waited")
    @Timespan(Timespan.MILLISECONDS)
    long waited;
}
