package io.hvd.timeline;

import io.hvd.spi.ControlChannel;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;

/**
 * What a rank does for the timeline: rank 0 collects, the others report. Everything is called on the
 * timeline's thread.
 */
interface Part extends ControlChannel.Inbox {
    /** A timeline begins. */
    void begin(int session, Path file, EventBuffer events);

    /** This rank has no more to say; completes {@code done} when that has arrived where it must. */
    void end(CompletableFuture<Void> done);

    /** Called several times a second while there is something to do. */
    void turn();

    /** False when {@link #turn} needs not be called. */
    boolean isBusy();

    /** The job cannot go on: no more events of other ranks will arrive. */
    void fail(String why);
}
