package io.hvd.examples.image;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.examples.ExampleFailure;
import io.hvd.tensor.Tensor;
import io.hvd.train.log.RunLog;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import org.apache.commons.cli.ParseException;

/** The record of a training in the folder of {@code --run-dir}; without the flag its methods do nothing. */
final class RunRecord {
    private final HvdContext hvd;
    private final String example;
    private final RunFlags flags;
    private Optional<RunLog> log = Optional.empty();
    private long steps;
    private double lossSum;
    private long losses;

    RunRecord(HvdContext hvd, String example, RunFlags flags) {
        this.hvd = hvd;
        this.example = example;
        this.flags = flags;
    }

    @FunctionalInterface
    interface Body {
        Evaluation run() throws IOException, ParseException, ExampleFailure;
    }

    /** Runs the training, which begins the record once it knows where it goes on, and notes how it ends. */
    Evaluation during(Body training) throws IOException, ParseException, ExampleFailure {
        try {
            Evaluation end = training.run();
            log.ifPresent(RunLog::finished);
            return end;
        } catch (Throwable e) { // an OutOfMemoryError ends the run too
            log.ifPresent(open -> open.failed(e));
            throw e;
        } finally {
            log.ifPresent(RunLog::close);
        }
    }

    /** The training has ended before its end, and goes on in a later run. */
    void stopped(String why) {
        log.ifPresent(open -> open.stopped(why));
    }

    /** Every rank calls it. @param stepsDone batches that the training has behind it */
    void begins(long stepsDone) {
        steps = stepsDone;
        log = flags.open(hvd, example, stepsDone);
    }

    /** Whether the losses of the batches are wanted. */
    boolean isKept() {
        return flags.folder().isPresent();
    }

    void epochBegins() {
        log.ifPresent(open -> open.clock().waitBegins());
    }

    void batchArrives() {
        log.ifPresent(open -> open.clock().batchArrives());
    }

    /** @param loss of this rank's batch; NaN if it has none @param exchangeNanos waited for gradients */
    void stepEnds(int samples, double loss, long exchangeNanos) {
        log.ifPresent(open -> {
            steps++;
            if (samples > 0) {
                lossSum += loss * samples;
                losses += samples;
            }
            open.clock().stepEnds(samples, exchangeNanos);
            open.clock().waitBegins();
        });
    }

    /** Every rank calls it. */
    void epochEnds(int epoch, Evaluation evaluation) {
        log.ifPresent(open -> {
            Map<String, Double> metrics = new TreeMap<>();
            trainLoss().ifPresent(mean -> metrics.put("train loss", mean));
            metrics.put("test loss", evaluation.loss());
            metrics.put("accuracy", evaluation.accuracy());
            open.epochEnds(epoch, steps, metrics);
        });
    }

    /** The mean over the samples of all ranks since the last one; a resumed epoch may have had none left. */
    private OptionalDouble trainLoss() {
        Tensor mine = Tensor.of(new double[] {lossSum, losses});
        double[] all = (double[])
                hvd.allreduce("run.train loss", mine, AllreduceOptions.sum()).toArray();
        lossSum = 0;
        losses = 0;
        return all[1] == 0 ? OptionalDouble.empty() : OptionalDouble.of(all[0] / all[1]);
    }
}
