package io.hvd.train.loop;

import io.hvd.AllreduceOptions;
import io.hvd.PreparedAllreduce;
import io.hvd.ProcessSet;
import io.hvd.error.HvdException;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Objects;
import java.util.function.IntSupplier;

/**
 * A vote of the ranks on an end: a number per rank, of which all learn the largest. Each step starts an allreduce of four bytes and looks at that of the step before. That one has ended long ago, because gradients have travelled since. So no step waits for it, and all ranks learn of it after the same step.
 *
 * <p>While no steps are made, as during an evaluation, threads ask ({@link #watch}). Everything else is for the thread that trains.
 */
public final class StepVote implements AutoCloseable {
    private final String name;
    private final ProcessSet ranks;
    private final IntSupplier asks;
    private final int[] votes = new int[1];
    /** Null before the first step, and if this rank is alone. */
    private PreparedAllreduce allreduce;

    private boolean started;
    private int agreed;
    /** Null before the first one. */
    private PauseWatch watch;

    /**
     * All ranks of the set make one.
     *
     * @param name of its tensors; no other vote of these ranks has it
     * @param asks 0, or what this rank asks for; any thread calls it
     */
    public StepVote(String name, ProcessSet ranks, IntSupplier asks) {
        this.name = Objects.requireNonNull(name, "name");
        this.ranks = Objects.requireNonNull(ranks, "ranks");
        this.asks = Objects.requireNonNull(asks, "asks");
    }

    /** Called by every rank after every step: the largest number that the ranks had one step before; 0 if none asks. */
    public int afterStep() {
        if (ranks.size() == 1) {
            return asks.getAsInt();
        }
        if (settled() == 0) {
            if (allreduce == null) {
                allreduce = ranks.prepareAllreduce(
                        List.of(name), List.of(Tensor.of(votes)), AllreduceOptions.of(ReduceOp.MAX));
            }
            votes[0] = asks.getAsInt();
            allreduce.start();
            started = true;
        }
        return agreed;
    }

    /** Called by every rank behind the last step before a pause: waits for the vote of that step. */
    public int settled() {
        if (started) {
            started = false;
            allreduce.await();
            agreed = votes[0];
        }
        return agreed;
    }

    /**
     * Watches from now on until all ranks have called {@link #resume}, twice a second. All ranks call it.
     *
     * @param asked is called once on each rank, on a thread of its own, if a rank asks meanwhile; it calls no collective
     */
    public void watch(Runnable asked) {
        awaitWatch();
        watch = new PauseWatch(name + ".pause", ranks, asks, asked);
    }

    /** This rank goes on with steps. */
    public void resume() {
        if (watch != null) {
            watch.end();
        }
    }

    /** Called by every rank: goes on with steps when all ranks do. */
    public void awaitWatch() {
        resume();
        if (watch != null) {
            watch.await();
            watch = null;
        }
    }

    /** Ends without waiting for votes in which other ranks may not take part after a failure. */
    public void abandon() {
        resume();
    }

    /**
     * Waits for the last vote, in which all ranks take part.
     *
     * @throws HvdException if a rank is gone
     */
    @Override
    public void close() {
        awaitWatch();
        if (allreduce != null) {
            settled();
            allreduce.close();
        }
    }
}
