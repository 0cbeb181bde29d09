package io.hvd.train.loop;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import io.hvd.log.HvdLogger;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;

/**
 * Watches on a thread of each rank whether a rank asks for an end while the threads that train make no steps. The threads meet in rounds
 * until all ranks have said that they go on; a rank that waits for the others there does so on the thread that trains, in a collective
 * of its own, which has its limit.
 */
public final class PauseWatch {
    private static final HvdLogger LOG = HvdLogger.of(PauseWatch.class);
    private static final long MILLIS_BETWEEN_ROUNDS = 500;

    private final String name;
    private final ProcessSet ranks;
    private final IntSupplier asks;
    private final Runnable asked;
    private final CountDownLatch ended = new CountDownLatch(1);
    private final Thread thread;

    public PauseWatch(String name, ProcessSet ranks, IntSupplier asks, Runnable asked) {
        this.name = name;
        this.ranks = ranks;
        this.asks = asks;
        this.asked = asked;
        this.thread = new Thread(this::run, "hvd-pause-" + ranks.rank());
        thread.setDaemon(true);
        thread.start();
    }

    /** This rank goes on. */
    public void end() {
        ended.countDown();
    }

    /** Waits until the other ranks go on too, or one is gone. */
    public void await() {
        boolean interrupted = false;
        while (true) {
            try {
                thread.join();
                break;
            } catch (InterruptedException e) {
                interrupted = true; // the round under way ends with the other ranks' threads
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        try {
            boolean told = false;
            boolean pausing = true;
            while (pausing) {
                pausing = !ended.await(MILLIS_BETWEEN_ROUNDS, TimeUnit.MILLISECONDS);
                int[] round = meet(asks.getAsInt(), pausing);
                pausing = round[1] > 0;
                if (pausing && round[0] > 0 && !told) {
                    told = true;
                    tell();
                }
            }
        } catch (InterruptedException e) {
            LOG.debug("the watch of rank {} was interrupted", ranks.rank());
        } catch (RuntimeException e) {
            LOG.debug("the watch of rank {} ends, as a rank has failed or left", ranks.rank(), e);
        }
    }

    private void tell() {
        try {
            asked.run();
        } catch (RuntimeException e) { // the other ranks' threads wait for this one
            LOG.error("rank {} could not heed in a pause that the training is to end", ranks.rank(), e);
        }
    }

    private int[] meet(int mine, boolean pausing) {
        int[] round = {mine, pausing ? 1 : 0};
        if (ranks.size() > 1) {
            // between which calls of the thread that trains, each rank's clock decides
            ranks.forOptimizers()
                    .inAnyOrder(
                            () -> ranks.allreduceInPlace(name, Tensor.of(round), AllreduceOptions.of(ReduceOp.MAX)));
        }
        return round;
    }
}
