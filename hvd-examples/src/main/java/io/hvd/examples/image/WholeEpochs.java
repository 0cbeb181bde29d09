package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.data.EpochBatches;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import java.io.IOException;
import java.util.Map;

/** A training that is saved at the end of each epoch, into a single file if there is one. Each sample of a batch counts. */
final class WholeEpochs implements TrainingCourse {
    private final TrainingOptions options;
    private final DistributedSampler sampler;
    private final TrainingOptimizer optimizer;
    private final TrainingCheckpoint checkpoint;

    WholeEpochs(
            HvdContext hvd, TrainingOptions options, int images, ImageClassifier model, TrainingOptimizer optimizer) {
        this.options = options;
        this.sampler = DistributedSampler.builder(images, hvd.size(), hvd.rank())
                .seed(options.seed())
                .build();
        this.optimizer = optimizer;
        this.checkpoint = new TrainingCheckpoint(hvd, model, optimizer.outermost(), options.checkpoint());
    }

    @Override
    public DistributedSampler sampler() {
        return sampler;
    }

    @Override
    public int resume() throws IOException {
        Map<String, String> words = options.resume() ? checkpoint.restore(false) : Map.of();
        return Integer.parseInt(words.getOrDefault(TrainingCheckpoint.EPOCHS, "0"));
    }

    @Override
    public long stepsBefore(int firstEpoch, int batchesPerEpoch) {
        return (long) firstEpoch * batchesPerEpoch;
    }

    @Override
    public EpochBatches.Pass<TorchBatch> begin(TorchLoader<?> loader, int epoch) {
        sampler.setEpoch(epoch);
        return loader.iterator();
    }

    @Override
    public double progress(int epoch, double ofPass) {
        return epoch + ofPass;
    }

    @Override
    public int counted(int batchSize, int epoch) {
        return batchSize;
    }

    @Override
    public boolean stepped(int epoch, boolean isLastOfEpoch) {
        return false;
    }

    @Override
    public boolean isTerminated() {
        return false;
    }

    @Override
    public void evaluationBegins(int epoch) {}

    @Override
    public boolean evaluationEnds(int epoch) {
        return false;
    }

    /** The file has whole epochs only. */
    @Override
    public void cutShort(int epoch) {}

    @Override
    public void epochEnds(int epoch, boolean last) throws IOException {
        if (options.checkpoint().isPresent()) {
            optimizer.consolidate();
        }
        checkpoint.save(Map.of(TrainingCheckpoint.EPOCHS, String.valueOf(epoch + 1)), false);
    }

    @Override
    public void close() {}
}
