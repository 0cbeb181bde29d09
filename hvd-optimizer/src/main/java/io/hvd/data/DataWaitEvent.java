package io.hvd.data;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A wait of the thread that trains for its next batch, in a recording of JDK Flight Recorder. */
@Name("hvd.DataWait")
@Label("Data Wait")
@Category("hvd")
@Description("From the question for the next batch until it was there")
@StackTrace(false)
final class DataWaitEvent extends Event {
    @Label("Batch")
    @Description("Its number in the epoch, from 0")
    int batch;
}
