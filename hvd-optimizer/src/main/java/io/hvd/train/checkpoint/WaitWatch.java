package io.hvd.train.checkpoint;

import io.hvd.log.HvdLogger;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Looks twice a second, on a thread of its own, whether this rank is to end, for a rank that waits for a batch does not look. */
final class WaitWatch implements AutoCloseable {
    private static final HvdLogger LOG = HvdLogger.of(WaitWatch.class);
    private static final long MILLIS = 500;

    private final BooleanSupplier asked;
    private final Runnable save;
    private final CountDownLatch closed = new CountDownLatch(1);

    /** @param save does nothing while no batch is awaited */
    WaitWatch(BooleanSupplier asked, Runnable save) {
        this.asked = asked;
        this.save = save;
        Thread thread = new Thread(this::run, "hvd-wait");
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        try {
            while (!closed.await(MILLIS, TimeUnit.MILLISECONDS)) {
                if (asked.getAsBoolean()) {
                    save.run();
                }
            }
        } catch (InterruptedException e) {
            LOG.debug("the watch over waits for batches was interrupted");
        } catch (RuntimeException e) {
            LOG.error("no checkpoint was written while a batch was awaited", e);
        }
    }

    @Override
    public void close() {
        closed.countDown();
    }
}
