package io.hvd.train.log;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Optimizer;
import io.hvd.train.Callback;
import io.hvd.train.EpochMetrics;
import io.hvd.train.Training;
import java.util.Map;
import java.util.TreeMap;

/**
 * Keeps the {@link RunLog} of a {@link io.hvd.train.TrainingLoop}: the metrics of each epoch, and every rank's speed, waits and
 * memory. The ranks meet at the end of the epoch, as they do for the metrics anyway. With {@link #everySteps} it writes curves
 * within the epochs too.
 */
public final class LogScalars implements Callback {
    private static final String STEPS = "steps/";

    private final RunLog log;
    private final int batchSize;
    /** 0 if nothing is written within an epoch. */
    private final int every;

    private final boolean withNorm;
    /** Steps of the record that the loop does not count. */
    private long before;
    /** The metrics when they were written last. */
    private EpochMetrics written = new EpochMetrics();

    /** @param batchSize samples of a batch of one rank, for the samples per second */
    public LogScalars(RunLog log, int batchSize) {
        this(log, batchSize, 0, false);
    }

    private LogScalars(RunLog log, int batchSize, int every, boolean withNorm) {
        this.log = log;
        this.batchSize = batchSize;
        this.every = every;
        this.withNorm = withNorm;
    }

    /**
     * Also writes, after each so many steps, the learning rate ({@code steps/learning rate}), the norm of the averaged gradients where
     * it is clipped ({@code steps/gradient norm}), and each metric that the steps add, such as {@code steps/loss}: its mean over the
     * samples of all ranks since the last time. The ranks meet in one small collective each time; with 1, after every step.
     */
    public LogScalars everySteps(int steps) {
        if (steps < 1) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "LogScalars.everySteps(" + steps + "): expected at least 1");
        }
        return new LogScalars(log, batchSize, steps, withNorm);
    }

    /** Writes the gradient norm with {@link #everySteps} also where nothing clips it: these steps read the averaged gradients once more. */
    public LogScalars withGradientNorm() {
        return new LogScalars(log, batchSize, every, true);
    }

    /** The means within an epoch are those of all ranks. */
    @Override
    public boolean meetsInBatches() {
        return every > 0;
    }

    /** The record goes on where the loop does; a second loop goes on behind the first one. */
    @Override
    public void trainingBegins(Training training) {
        training.ranks()
                .requireSame(Map.of(
                        "LogScalars.everySteps", String.valueOf(every),
                        "LogScalars.withGradientNorm", String.valueOf(withNorm)));
        before = log.loopBegins(training.stepsResumed());
    }

    @Override
    public void epochBegins(Training training) {
        written = new EpochMetrics();
        log.clock().waitBegins();
    }

    @Override
    public void batchBegins(Training training) {
        log.clock().batchArrives();
        if (withNorm && isDue(training.steps() + 1)) {
            measureNorm(training.optimizer());
        }
    }

    private boolean isDue(long steps) {
        return every > 0 && steps % every == 0;
    }

    @Override
    public void batchEnds(Training training) {
        log.clock().stepEnds(batchSize, exposedNanos(training.optimizer()));
        if (isDue(training.steps())) {
            write(training);
        }
        log.clock().waitBegins();
    }

    private void write(Training training) {
        long step = before + training.steps();
        EpochMetrics now = training.metrics().copy();
        now.since(written).reduce(training.ranks()).forEach((name, result) -> {
            if (result.samples() > 0) {
                log.scalars().addScalar(STEPS + name, result.mean(), step);
            }
        });
        written = now;
        log.scalars().addScalar(STEPS + "learning rate", training.optimizer().learningRate(), step);
        double norm = lastNorm(training.optimizer());
        if (!Double.isNaN(norm)) {
            log.scalars().addScalar(STEPS + "gradient norm", norm, step);
        }
    }

    private static void measureNorm(Optimizer optimizer) {
        if (optimizer instanceof DistributedOptimizer distributed) {
            distributed.measureGradientNorm();
        } else if (optimizer instanceof AmpOptimizer amp) {
            amp.measureGradientNorm();
        }
    }

    private static double lastNorm(Optimizer optimizer) {
        if (optimizer instanceof DistributedOptimizer distributed) {
            return distributed.lastGradientNorm();
        }
        return optimizer instanceof AmpOptimizer amp ? amp.lastGradientNorm() : Double.NaN;
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
        log.loopEnds(training.outcome(), training.isLeaving());
    }

    @Override
    public void epochEnds(Training training) {
        Map<String, Double> metrics = new TreeMap<>();
        training.results().forEach((name, result) -> metrics.put(name, result.mean()));
        log.epochEnds(training.epoch(), before + training.steps(), metrics);
    }
}
