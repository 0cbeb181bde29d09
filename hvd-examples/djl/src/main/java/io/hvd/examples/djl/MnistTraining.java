package io.hvd.examples.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDManager;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.TrainingConfig;
import ai.djl.training.TrainingResult;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.hvd.HvdContext;
import io.hvd.examples.data.DataOrigin;
import io.hvd.examples.data.ImageSets;
import io.hvd.optimizer.djl.DistributedTrainer;
import io.hvd.optimizer.djl.RankSampler;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** One rank's training of a DJL model by {@code EasyTrain.fit}. */
final class MnistTraining {
    private static final String MODEL = "djl-mnist";
    private static final String EPOCH = "Epoch";
    private static final String OPTIMIZER = "optimizer";

    private final MnistFlags flags;
    private final HvdContext hvd;

    MnistTraining(MnistFlags flags, HvdContext hvd) {
        this.flags = flags;
        this.hvd = hvd;
    }

    void run() throws Exception {
        int batch = flags.batchOf(hvd.size());
        try (Model model = Model.newInstance(MODEL, Device.cpu())) {
            NDManager manager = model.getNDManager();
            ImageSets images = flags.images().call();
            RankSampler order = RankSampler.training(hvd, batch, flags.seed());
            ArrayDataset train = DigitArrays.of(images.train(), flags.trainImages(), manager, order);
            ArrayDataset test = DigitArrays.of(
                    images.test(), flags.testImages(), manager, RankSampler.evaluation(hvd, flags.batchSize()));
            model.setBlock(DigitBlock.make());
            int done = load(model);
            order.setEpoch(done);
            try (Trainer trainer = trainer(model, config(done))) {
                train(trainer, done, train, test, images.origin());
                save(trainer);
            }
        }
    }

    private TrainingConfig config(int epochsDone) {
        return new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optDevices(new Device[] {Device.cpu()})
                .optOptimizer(Optimizer.sgd()
                        .setLearningRateTracker(Tracker.fixed(flags.learningRate()))
                        .optMomentum(0.9f)
                        .build())
                .addEvaluator(new Accuracy())
                .addTrainingListeners(TrainingListener.Defaults.basic())
                .addTrainingListeners(new EpochLines(epochsDone, hvd.rank() == 0));
    }

    /** The one line that makes DJL's training a distributed one. */
    private Trainer trainer(Model model, TrainingConfig config) {
        return flags.alone() ? model.newTrainer(config) : DistributedTrainer.of(hvd, model, config);
    }

    private void train(Trainer trainer, int done, ArrayDataset train, ArrayDataset test, DataOrigin data)
            throws Exception {
        trainer.initialize(DigitBlock.IMAGES);
        if (done > 0 && trainer instanceof DistributedTrainer distributed) {
            distributed.loadOptimizerState(
                    hvd.rank() == 0 ? Checkpoint.read(optimizerFile()).state(OPTIMIZER) : null);
        }
        long begin = System.nanoTime();
        EasyTrain.fit(trainer, flags.epochs() - done, train, test);
        double seconds = (System.nanoTime() - begin) / 1e9;
        if (hvd.rank() == 0) {
            print(trainer.getTrainingResult(), (flags.epochs() - done) * train.size() / seconds, data);
        }
    }

    private void print(TrainingResult result, double imagesPerSecond, DataOrigin data) {
        System.out.println(String.format(
                Locale.ROOT,
                "RESULT example=%s ranks=%d trainer=%s epochs=%d loss=%.6f test_loss=%.6f accuracy=%.4f"
                        + " samples_per_second=%.1f data=%s",
                MODEL,
                hvd.size(),
                flags.alone() ? "djl" : "hvd",
                flags.epochs(),
                result.getTrainLoss(),
                result.getValidateLoss(),
                result.getValidateEvaluation("Accuracy"),
                imagesPerSecond,
                data));
    }

    /** Rank 0's model comes to all ranks when the trainer begins; the number of epochs is asked of it here. */
    private int load(Model model) throws Exception {
        boolean there = hvd.rank() == 0 && flags.checkpoint().isPresent() && Files.exists(optimizerFile());
        if (there) {
            model.load(flags.checkpoint().get(), MODEL);
        }
        long mine = there ? Long.parseLong(model.getProperty(EPOCH)) : 0;
        var epochs = io.hvd.tensor.Tensor.of(mine);
        return (int) ((long[]) hvd.broadcast("djl.epochs", epochs, 0).toArray())[0];
    }

    private void save(Trainer trainer) throws IOException {
        if (hvd.rank() == 0 && flags.checkpoint().isPresent() && trainer instanceof DistributedTrainer distributed) {
            Path folder = Files.createDirectories(flags.checkpoint().get());
            Model model = trainer.getModel();
            model.setProperty(EPOCH, Integer.toString(flags.epochs()));
            model.save(folder, MODEL);
            new Checkpoint(new TreeMap<>(), Map.of())
                    .withState(OPTIMIZER, distributed.optimizerState())
                    .write(optimizerFile());
        }
    }

    private Path optimizerFile() {
        return flags.checkpoint().orElseThrow().resolve(MODEL + "." + OPTIMIZER);
    }
}
