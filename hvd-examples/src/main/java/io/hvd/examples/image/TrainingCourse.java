package io.hvd.examples.image;

import io.hvd.data.EpochBatches;
import io.hvd.data.Sampler;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import java.io.IOException;

/** Where a training begins, which samples of a batch count, and what is saved when: by whole epochs, or in a series of checkpoints. */
sealed interface TrainingCourse extends AutoCloseable permits WholeEpochs, TrainingSeries {
    /** The course that the flags ask for. @param images the number of images to train on */
    static TrainingCourse of(
            RunStart start, TrainingOptions options, int images, ImageClassifier model, TrainingOptimizer optimizer)
            throws IOException {
        return options.series().folder().isPresent()
                ? new TrainingSeries(start, options, images, model, optimizer)
                : new WholeEpochs(start.hvd(), options, images, model, optimizer);
    }

    /** The sampler that the loader draws this rank's samples from. */
    Sampler sampler();

    /** Takes over what another run has saved, if there is something, and returns the epoch to go on with. */
    int resume() throws IOException;

    /** The batches that the training has behind it when it begins. */
    long stepsBefore(int firstEpoch, int batchesPerEpoch);

    /** Begins an epoch, or the rest of it. */
    EpochBatches.Pass<TorchBatch> begin(TorchLoader<?> loader, int epoch);

    /** The progress of the training in epochs before a batch. @param ofPass the share of the loader's batches that is done */
    double progress(int epoch, double ofPass);

    /** How many samples at the beginning of the next batch count. */
    int counted(int batchSize, int epoch) throws IOException;

    /** Ends a batch. @return whether the training ends now, on all ranks and without an evaluation */
    boolean stepped(int epoch, boolean isLastOfEpoch) throws IOException;

    /** Whether {@link #stepped} or {@link #evaluationEnds} has ended the training. */
    boolean isTerminated();

    /** The steps of an epoch are done, and an evaluation follows; what asks for an end meanwhile is heeded. */
    void evaluationBegins(int epoch) throws IOException;

    /** Whether the training ends now, on all ranks, with all steps so far saved. */
    boolean evaluationEnds(int epoch) throws IOException;

    /** Saves in the middle of an epoch, after the evaluation, where the limit on steps ends the run. */
    void cutShort(int epoch) throws IOException;

    /** Saves after the evaluation. @param last whether this run ends with this epoch */
    void epochEnds(int epoch, boolean last) throws IOException;

    @Override
    void close() throws IOException;
}
