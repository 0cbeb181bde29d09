package io.hvd.train.checkpoint;

import io.hvd.AllreduceOptions;
import io.hvd.PreparedAllreduce;
import io.hvd.ProcessSet;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Objects;

/**
 * Has the ranks end together after one step, if any of them has got SIGTERM. Each step starts an allreduce of four bytes and
 * looks at that of the step before, which has ended long before because gradients have travelled since: so no step waits
 * for it, and the ranks end one step after the one in which the first of them has said so.
 *
 * <p>Once the ranks have agreed because of a signal, {@link #close} does not give it back: the processes are about to end by
 * themselves, and a signal that comes late, or once more, must not end one of them with an error.
 *
 * <p>For the thread that trains.
 */
public final class TerminationVote implements AutoCloseable {
    private static final int RAISED = 1;
    private static final int SENT = 2;

    private final TerminationSignal signal;
    private final int[] asks = new int[1];
    /** Null if this rank is alone. */
    private final PreparedAllreduce allreduce;

    private boolean started;
    private boolean sent;

    /** Begins to listen. All ranks of the set make one. */
    public TerminationVote(ProcessSet ranks) {
        this(ranks, TerminationSignal.listen());
    }

    /**
     * Takes over what this rank has heard since before it loaded its data, say. All ranks of the set make one.
     *
     * @param signal which the vote closes
     */
    public TerminationVote(ProcessSet ranks, TerminationSignal signal) {
        this.signal = Objects.requireNonNull(signal, "signal");
        allreduce = ranks.size() == 1
                ? null
                : ranks.prepareAllreduce(
                        List.of("training.terminate"), List.of(Tensor.of(asks)), AllreduceOptions.of(ReduceOp.MAX));
    }

    /** What this rank hears; a program may {@link TerminationSignal#raise} it. */
    public TerminationSignal signal() {
        return signal;
    }

    /** Called by every rank after every step: whether all of them end now. */
    public boolean afterStep() {
        if (allreduce == null) {
            sent = signal.wasSent();
            return signal.hasArrived();
        }
        boolean agreed = ended() && asks[0] > 0;
        if (agreed) {
            sent = asks[0] == SENT;
        } else {
            asks[0] = asks();
            allreduce.start();
            started = true;
        }
        return agreed;
    }

    private int asks() {
        if (signal.wasSent()) {
            return SENT;
        }
        return signal.hasArrived() ? RAISED : 0;
    }

    private boolean ended() {
        if (!started) {
            return false;
        }
        started = false;
        allreduce.await();
        return true;
    }

    /** Listens no longer, and does not wait for the last vote, in which other ranks may not take part after a failure. */
    void abandon() {
        signal.close();
    }

    /** Waits for the last vote, which the other ranks have started too, and listens no longer unless a signal ends the job. */
    @Override
    public void close() {
        if (!sent) {
            signal.close();
        }
        if (allreduce != null) {
            ended();
            allreduce.close();
        }
    }
}
