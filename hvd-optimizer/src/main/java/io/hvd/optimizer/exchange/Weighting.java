package io.hvd.optimizer.exchange;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.Parameter;
import java.util.List;

/** The factors by which this rank's gradients are multiplied before they travel. */
sealed interface Weighting permits Weighting.OfRanks, Weighting.OfSamples {
    /** @throws HvdException if the program does not say the size of its batches here */
    void requireBatches(long samples);

    /** The next backward pass is over so many samples. */
    void batch(long samples, BackwardPasses passes);

    /** Whether the size of a batch of this step is known. */
    boolean hasBatch();

    /** Whether all batches of this rank in this step are empty. */
    boolean hasEmptyBatch();

    /** @throws HvdException if the parameter's gradient is of no samples and would be added to one of some samples */
    void requireSamples(int parameter);

    /** Waits until the ranks agree on their factors, before anything is sent. */
    void agree();

    /** The factor of a gradient that travels in a bucket. */
    double ofBucket();

    /** The factor of a gradient that stays on this rank, or travels alone. */
    double ofLocal();

    /** The factor of a rank's gradient with which the sum over the ranks is the result. */
    double inSum();

    /** Forgets the batches of this step. */
    void startOver();

    /** Gives back what is prepared. */
    void close();

    /**
     * All ranks count alike.
     *
     * @param scalesLocal whether a gradient that stays on this rank is multiplied by this rank's part of the average
     */
    record OfRanks(GradientReduction reduction, BackwardPasses passes, boolean scalesLocal) implements Weighting {
        @Override
        public void requireBatches(long samples) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "batchSize(" + samples
                            + ") of an optimizer that was built without weightByBatchSize(): every rank's"
                            + " gradients count alike");
        }

        @Override
        public void batch(long samples, BackwardPasses counted) {}

        @Override
        public boolean hasBatch() {
            return false;
        }

        @Override
        public boolean hasEmptyBatch() {
            return false;
        }

        @Override
        public void requireSamples(int parameter) {}

        @Override
        public void agree() {}

        /** A bucket divides by the passes that were announced: by this factor its gradients are means of those that were made. */
        @Override
        public double ofBucket() {
            return reduction.localReduction() == LocalReduction.MEAN ? (double) passes.perStep() / inMean() : 1;
        }

        @Override
        public double ofLocal() {
            return scalesLocal ? 1.0 / (reduction.set().size() * inMean()) : 1.0 / inMean();
        }

        @Override
        public double inSum() {
            return 1.0 / (reduction.isSum() ? inMean() : reduction.set().size() * inMean());
        }

        private int inMean() {
            return passes.inMean(reduction.localReduction());
        }

        @Override
        public void startOver() {}

        @Override
        public void close() {}
    }

    /**
     * A rank counts for the samples of its batches.
     *
     * @param scalesLocal whether a gradient that stays on this rank is multiplied by this rank's part of the average
     */
    record OfSamples(BatchWeights weights, List<Parameter> parameters, GradientMeeting meeting, boolean scalesLocal)
            implements Weighting {
        @Override
        public void requireBatches(long samples) {}

        @Override
        public void batch(long samples, BackwardPasses passes) {
            weights.batch(samples, !passes.areLocal(), passes.perStep());
            if (weights.isAsked()) {
                meeting.begin(); // before any rank waits for the answer
            }
        }

        @Override
        public boolean hasBatch() {
            return !meeting.hasEnded() && weights.isUnderWay();
        }

        @Override
        public boolean hasEmptyBatch() {
            return weights.isEmptyHere();
        }

        @Override
        public void requireSamples(int parameter) {
            weights.requireSamples(parameters.get(parameter).name());
        }

        @Override
        public void agree() {
            share();
        }

        private double share() {
            meeting.begin();
            meeting.require();
            return weights.share();
        }

        @Override
        public double ofBucket() {
            return share();
        }

        @Override
        public double ofLocal() {
            return scalesLocal ? share() : weights.mean();
        }

        @Override
        public double inSum() {
            return share();
        }

        @Override
        public void startOver() {
            weights.startOver();
        }

        @Override
        public void close() {
            weights.close();
        }
    }
}
