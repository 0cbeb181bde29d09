package io.hvd.optimizer.exchange;

import io.hvd.optimizer.StepStats;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Percentage;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** The {@link StepStats} of an optimizer's step in a recording of JDK Flight Recorder; it lasts as long as the exposed wait. */
@Name("hvd.Gradients")
@Label("Gradients")
@Category("hvd")
@Description("The wait of an optimizer's step for the averaged gradients that backward has not hidden")
@StackTrace(false)
public final class GradientsEvent extends Event {
    @Label("Rank")
    int rank;

    @Label("Bytes")
    @Description("Gradients that were reduced")
    @DataAmount
    long bytes;

    @Label("Sent")
    @Description("What this rank gave to collectives for them")
    @DataAmount
    long bytesSent;

    @Label("Exposed")
    @Description("The wait that backward did not hide")
    @Timespan
    long exposed;

    @Label("Overlap")
    @Description("The share of the bytes that were averaged before the wait began")
    @Percentage
    double overlap;
}
