package io.hvd.train.checkpoint;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.train.loop.StepVote;
import java.io.IOException;
import java.util.Objects;

/**
 * Ends the ranks together after one step if any of them has got SIGTERM, for a loop of one's own. No step waits for the vote: the ranks end one step after the one in which the first of them has asked ({@link StepVote}).
 *
 * <pre>{@code
 * vote.pauseBegins(checkpoints, step, epoch); // a SIGTERM that comes now has this state saved at once
 * evaluate();
 * if (vote.pauseEnds()) {
 *     return; // on all ranks
 * }
 * }</pre>
 *
 * <p>Once the ranks have agreed because of a signal, {@link #close} does not give it back: the processes are about to end by
 * themselves, and a signal that comes late, or once more, must not end one of them with an error.
 *
 * <p>For the thread that trains.
 */
public final class TerminationVote implements AutoCloseable {
    private static final String NAME = "training.terminate";
    private static final int RAISED = 1;
    private static final int SENT = 2;

    private final ProcessSet ranks;
    private final TerminationSignal signal;
    private final StepVote vote;
    /** The ranks' agreement; 0 for none. */
    private int agreed;

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
        this.ranks = ranks;
        this.signal = Objects.requireNonNull(signal, "signal");
        this.vote = new StepVote(NAME, ranks, this::asks);
    }

    /** This rank's signal; a program may {@link TerminationSignal#raise} it. */
    public TerminationSignal signal() {
        return signal;
    }

    /** Called by every rank after every step: whether all of them end now. */
    public boolean afterStep() {
        vote.resume();
        agreed = Math.max(agreed, vote.afterStep());
        return agreed > 0;
    }

    /**
     * Called by every rank before a time without steps, such as an evaluation. The first rank copies the state. If a rank gets SIGTERM
     * before {@link #pauseEnds}, the copy is written at once, while the program goes on.
     *
     * @param step steps that are done
     * @param epoch to go on with
     */
    public void pauseBegins(Checkpoints checkpoints, long step, int epoch) throws IOException {
        agreed = Math.max(agreed, vote.settled());
        checkpoints.prepare(step, epoch);
        vote.watch(checkpoints::savePrepared);
    }

    /** Called by every rank behind it: whether all of them end now. */
    public boolean pauseEnds() {
        vote.resume();
        int[] all = {Math.max(agreed, asks())};
        ranks.allreduceInPlace(NAME + ".now", Tensor.of(all), AllreduceOptions.of(ReduceOp.MAX));
        vote.awaitWatch();
        agreed = all[0];
        return agreed > 0;
    }

    private int asks() {
        if (signal.wasSent()) {
            return SENT;
        }
        return signal.hasArrived() ? RAISED : 0;
    }

    /** Waits for the last vote, which the other ranks have started too, and listens no longer unless a signal ends the job. */
    @Override
    public void close() {
        if (agreed != SENT) {
            signal.close();
        }
        vote.close();
    }
}
