package io.hvd.trace;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A rank's place in its job, in a recording of JDK Flight Recorder. */
@Name("hvd.Job")
@Label("Job")
@Category("hvd")
@Description("A rank and its job; written when the rank joins, or with its first call after the recording has begun")
@StackTrace(false)
final class JobEvent extends Event {
    @Label("Rank")
    int rank;

    @Label("Size")
    @Description("Number of ranks")
    int size;

    @Label("Host")
    String host;

    @Label("Back End")
    String backend;

    @Label("Settings")
    @Description("The variables of hvd that are set")
    String settings;
}
