package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.hvd.examples.training.BatchPlace;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.train.Schedule;
import java.io.IOException;
import java.util.OptionalDouble;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** Trains on one batch: learning rate, forward, backward, and after the last pass the step of the optimizer. */
final class TrainingStep {
    private final TrainingOptions options;
    private final Schedule schedule;
    private final TorchDevice device;
    private final ImageClassifier model;
    private final TrainingOptimizer optimizer;
    private final TrainingCourse course;
    private final RunTotals totals;
    private final RunRecord record;

    /** @param totals get the samples and the steps */
    TrainingStep(
            TrainingOptions options,
            Schedule schedule,
            TorchDevice device,
            ImageClassifier model,
            TrainingOptimizer optimizer,
            TrainingCourse course,
            RunTotals totals,
            RunRecord record) {
        this.options = options;
        this.schedule = schedule;
        this.device = device;
        this.model = model;
        this.optimizer = optimizer;
        this.course = course;
        this.totals = totals;
        this.record = record;
    }

    /** @return the loss of this rank, if it is wanted and one of the samples counts */
    OptionalDouble run(TorchBatch batch, BatchPlace place, boolean withLoss) throws IOException {
        // A checkpoint contains the learning rate of its own training, which may have had another number of ranks.
        optimizer.outermost().learningRate(schedule.rate(course.progress(place.epoch(), place.done())));
        int counted = course.counted(batch.size(), place.epoch());
        double found = Double.NaN;
        try (PointerScope scope = new PointerScope()) {
            if (place.isFirstPass()) {
                optimizer.outermost().zeroGradients();
            }
            optimizer.counted(counted);
            Tensor loss = counted == 0 ? null : loss(batch, counted);
            optimizer.backward(ofSum(loss, place), place.isLastPass());
            if (place.isLastPass()) {
                step(optimizer.outermost());
            }
            if ((withLoss || record.isKept()) && loss != null) {
                found = loss.item_float();
            }
        }
        totals.saw(counted);
        record.stepEnds(
                counted,
                found,
                place.isLastPass() ? optimizer.outermost().lastStep().exposedNanos() : 0);
        return withLoss && counted > 0 ? OptionalDouble.of(found) : OptionalDouble.empty();
    }

    private Tensor loss(TorchBatch batch, int counted) {
        return options.precision().compute(device.device().type(), () -> {
            Tensor output =
                    model.classify(batch.fields().get(ImageTensors.IMAGES).narrow(0, 0, counted));
            return nll_loss(output, batch.fields().get(ImageTensors.LABELS).narrow(0, 0, counted));
        });
    }

    /** The share of a loss in that of its step: ADASUM, which averages nothing, has the sum of the passes. */
    private Tensor ofSum(Tensor loss, BatchPlace place) {
        return loss != null && options.noSync() && options.adasum() ? loss.div(new Scalar(place.passesOfStep())) : loss;
    }

    private void step(AmpOptimizer outermost) {
        outermost.step();
        totals.stepped(outermost.lastStep());
    }
}
