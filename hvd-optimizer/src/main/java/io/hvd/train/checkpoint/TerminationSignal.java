package io.hvd.train.checkpoint;

import io.hvd.log.HvdLogger;
import io.hvd.signal.SigTerm;

/**
 * Listens for SIGTERM, which Slurm sends some time before it ends a job ({@code --signal=TERM@60}). From the first object that is
 * made until the last one is closed, the signal does not end this process: the training is to end by itself. A JVM with
 * {@code -Xrs} ends at the signal as ever.
 */
public final class TerminationSignal implements AutoCloseable {
    private static final HvdLogger LOG = HvdLogger.of(TerminationSignal.class);

    private final SigTerm signal;
    private volatile boolean arrived;
    private volatile boolean sent;

    private TerminationSignal() {
        signal = SigTerm.listen(this::hear);
    }

    /** Begins to listen. */
    public static TerminationSignal listen() {
        return new TerminationSignal();
    }

    /** Whether the signal has come, or {@link #raise} was called. */
    public boolean hasArrived() {
        return arrived;
    }

    /** Whether the system has sent the signal to this process. */
    boolean wasSent() {
        return sent;
    }

    private void hear() {
        LOG.notice("SIGTERM has come: the training ends after a checkpoint");
        sent = true;
        arrived = true;
    }

    /** Ends the training as the signal does, for a program that learns by other means that its time is over. Any thread. */
    public void raise() {
        arrived = true;
    }

    /** Gives the signal back to what had it before, if no other one listens. */
    @Override
    public void close() {
        signal.close();
    }
}
