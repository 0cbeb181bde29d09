package io.hvd.train.log;

import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Optimizer;
import io.hvd.train.Callback;
import io.hvd.train.Training;
import java.util.Map;
import java.util.TreeMap;

/**
 * Keeps the {@link RunLog} of a {@link io.hvd.train.TrainingLoop}: the metrics of each epoch, and every rank's speed, waits and
 * memory. The ranks meet at the end of the epoch, as they do for the metrics anyway.
 */
public final class LogScalars implements Callback {
    private final RunLog log;
    private final int batchSize;
    /** Steps of the record that the loop does not count. */
    private long before;

    /** @param batchSize samples of a batch of one rank, for the samples per second */
    public LogScalars(RunLog log, int batchSize) {
        this.log = log;
        this.batchSize = batchSize;
    }

    /** The record goes on where the loop does; a second loop goes on behind the first one. */
    @Override
    public void trainingBegins(Training training) {
        before = log.loopBegins(training.stepsResumed());
    }

    @Override
    public void epochBegins(Training training) {
        log.clock().waitBegins();
    }

    @Override
    public void batchBegins(Training training) {
        log.clock().batchArrives();
    }

    @Override
    public void batchEnds(Training training) {
        log.clock().stepEnds(batchSize, exposedNanos(training.optimizer()));
        log.clock().waitBegins();
    }

    private static long exposedNanos(Optimizer optimizer) {
        if (optimizer instanceof DistributedOptimizer distributed) {
            return distributed.lastStep().exposedNanos();
        }
        return optimizer instanceof AmpOptimizer amp ? amp.lastStep().exposedNanos() : 0;
    }

    /** A loop that leaves in the middle of an epoch goes on in a later run. */
    @Override
    public void trainingEnds(Training training) {
        if (training.isLeaving()) {
            log.stopped(training.stopReason());
        }
    }

    @Override
    public void epochEnds(Training training) {
        Map<String, Double> metrics = new TreeMap<>();
        training.results().forEach((name, result) -> metrics.put(name, result.mean()));
        log.epochEnds(training.epoch(), before + training.steps(), metrics);
    }
}
