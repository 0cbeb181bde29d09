package io.hvd.timeline;

import io.hvd.spi.ControlChannel;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;

/** The role of one rank in the timeline: rank 0 collects, the others report. The timeline's thread makes all calls. */
interface TimelineRole extends ControlChannel.Inbox {
    /** A timeline begins. */
    void begin(int session, Path file, EventBuffer events);

    /** Ends the timeline on this rank; completes {@code done} when its last events have arrived. */
    void end(CompletableFuture<Void> done);

    /** Called several times a second while there is something to do. */
    void turn();

    /** False if {@link #turn} need not be called. */
    boolean isBusy();

    /** The job cannot go on: no more events of other ranks will arrive. */
    void fail(String why);
}
