package io.hvd.trace;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A training step in a recording of JDK Flight Recorder. */
@Name("hvd.Step")
@Label("Step")
@Category("hvd")
@Description("A training step of a rank, from the end of the step before to its own end")
@StackTrace(false)
final class StepEvent extends Event {
    @Label("Rank")
    int rank;

    @Label("Number")
    @Description("Counts the rank's steps, from 1")
    long number;
}
