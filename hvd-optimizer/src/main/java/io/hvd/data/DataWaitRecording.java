package io.hvd.data;

import jdk.jfr.FlightRecorder;

/**
 * Makes {@link DataWaitEvent}s. The JVM takes a tenth of a second to prepare a class of events, so that class is not touched
 * before the process has its first recording.
 */
final class DataWaitRecording {
    private DataWaitRecording() {}

    /** An event that begins now; null, which costs nothing, unless a recording wants events of this kind. */
    static DataWaitEvent begun() {
        if (!FlightRecorder.isInitialized()) {
            return null;
        }
        DataWaitEvent event = new DataWaitEvent();
        if (!event.isEnabled()) {
            return null;
        }
        event.begin();
        return event;
    }

    /** The batch of this number is there. */
    static void ended(DataWaitEvent event, int number) {
        if (event != null) {
            event.batch = number;
            event.commit();
        }
    }
}
