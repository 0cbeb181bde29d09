package io.hvd.train;

import io.hvd.AllreduceOptions;
import io.hvd.ObjectCodec;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Ends the training on all ranks when a metric, such as the loss, is infinite or NaN on any of them. Each rank looks at its sums after every
 * batch; the ranks ask each other every so many batches and at the end of the epoch, by an allreduce of four bytes.
 * They also do before a checkpoint is saved, so that none is of a model that was trained after such a metric.
 * {@code refuseNonFinite} of the optimizer finds gradients before the step of their own batch; this one needs no pass over them.
 */
public final class TerminateOnNaN implements Callback {
    private final int everyBatches;
    /** The first metric of this epoch that is not finite on this rank, in words; null if all are. */
    private String found;

    /** @param everyBatches batches of an epoch between two questions; at least 1 */
    public TerminateOnNaN(int everyBatches) {
        if (everyBatches < 1) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "TerminateOnNaN(" + everyBatches + "): expected at least 1 batch");
        }
        this.everyBatches = everyBatches;
    }

    @Override
    public Place place() {
        return Place.DECISION;
    }

    @Override
    public boolean meetsInBatches() {
        return true;
    }

    @Override
    public void trainingBegins(Training training) {
        training.beforeSaving(() -> ask(training));
    }

    @Override
    public void epochBegins(Training training) {
        found = null;
    }

    @Override
    public void batchEnds(Training training) {
        if (found == null) {
            training.metrics()
                    .notFinite()
                    .ifPresent(metric -> found = "\"" + metric + "\" in batch " + (training.batch() - 1));
        }
        if (training.batch() % everyBatches == 0 || training.batch() == training.batches()) {
            ask(training);
        }
    }

    private void ask(Training training) {
        float[] any = {found == null ? 0 : 1};
        training.ranks().allreduceInPlace("training.diverged", Tensor.of(any), AllreduceOptions.of(ReduceOp.MAX));
        if (any[0] > 0) {
            throw diverged(training, "on rank " + String.join("; on rank ", ofRanks(training)));
        }
    }

    private List<String> ofRanks(Training training) {
        byte[] mine = (found == null ? "" : found).getBytes(StandardCharsets.UTF_8);
        List<byte[]> all = training.ranks().allgatherObject("training.diverged.where", mine, ObjectCodec.bytes());
        List<String> words = new ArrayList<>();
        for (int place = 0; place < all.size(); place++) {
            String where = new String(all.get(place), StandardCharsets.UTF_8);
            if (!where.isEmpty()) {
                words.add(training.ranks().ranks().get(place) + " " + where);
            }
        }
        return words;
    }

    /** The evaluation has added to the metrics too; their means are the same on all ranks. */
    @Override
    public void epochEnds(Training training) {
        Optional<String> metric = training.results().entrySet().stream()
                .filter(each -> each.getValue().samples() > 0
                        && !Double.isFinite(each.getValue().mean()))
                .map(each -> "the mean of \"" + each.getKey() + "\" over all ranks")
                .findFirst();
        metric.ifPresent(what -> {
            throw diverged(training, what);
        });
    }

    private static HvdException diverged(Training training, String what) {
        return new HvdException(
                ErrorId.NON_FINITE,
                "a metric is infinite or NaN in epoch " + training.epoch() + ", after " + training.steps()
                        + " steps of the whole training (epochs and batches are counted from 0): " + what
                        + ". All ranks end here. A smaller learning rate, a warm-up or clipGradientNorm(max) may help;"
                        + " refuseNonFinite(true) of the optimizer names the first such gradient before its step");
    }
}
