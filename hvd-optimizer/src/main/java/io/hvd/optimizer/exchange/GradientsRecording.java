package io.hvd.optimizer.exchange;

import io.hvd.ProcessSet;
import io.hvd.optimizer.StepStats;
import jdk.jfr.FlightRecorder;

/**
 * Makes {@link GradientsEvent}s. The JVM takes a tenth of a second to prepare a class of events, so that class is not touched
 * before the process has its first recording.
 */
public final class GradientsRecording {
    private GradientsRecording() {}

    /** An event that begins now; null, which costs nothing, unless a recording wants events of this kind. */
    public static GradientsEvent begun() {
        if (!FlightRecorder.isInitialized()) {
            return null;
        }
        GradientsEvent event = new GradientsEvent();
        if (!event.isEnabled()) {
            return null;
        }
        event.begin();
        return event;
    }

    /** The gradients are there. A rank outside of the set has waited for nobody. */
    public static void ended(GradientsEvent event, ProcessSet set, StepStats stats) {
        if (event != null && set.included()) {
            event.rank = set.ranks().get(set.rank());
            event.bytes = stats.bytes();
            event.bytesSent = stats.bytesSent();
            event.exposed = stats.exposedNanos();
            event.overlap = stats.overlap();
            event.commit();
        }
    }
}
