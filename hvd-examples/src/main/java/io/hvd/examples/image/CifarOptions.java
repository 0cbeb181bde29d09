package io.hvd.examples.image;

import io.hvd.Compression;
import io.hvd.examples.Flags;
import io.hvd.examples.training.GlobalBatch;
import io.hvd.examples.training.ParallelMode;
import io.hvd.examples.training.TorchDevice;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalDouble;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of the CIFAR-10 example.
 *
 * @param batchSize number of samples in a step of all ranks together
 * @param imagesPerPass the largest number of images in one pass of a device, whose activations are in memory at the same time
 */
record CifarOptions(
        Net net,
        Data data,
        Schedule schedule,
        Results results,
        int batchSize,
        int imagesPerPass,
        Compression compression,
        Precision precision,
        int workers,
        long seed,
        boolean cuda,
        ParallelMode mode) {
    /**
     * The net.
     *
     * @param width channels of the first stage's 3x3 layers; 64 in the paper
     * @param syncBatchNorm whether batch norms are over the batches of all ranks
     */
    record Net(String arch, ResNet.Stem stem, int classes, int width, boolean syncBatchNorm) {
        static Net from(CommandLine line, CifarPreset preset) throws ParseException {
            if (line.hasOption("pretrained")) {
                throw new ParseException("--pretrained: there are no trained weights to load, hvd ships none and"
                        + " downloads nothing; a file of your own is loaded by --checkpoint FILE --resume");
            }
            return new Net(
                    Flags.oneOf(line, "arch", ResNet.names()),
                    ResNet.Stem.of(Flags.oneOf(line, "stem", ResNet.Stem.words())),
                    Flags.count(line, "classes", 10, 1),
                    Flags.count(line, "width", preset.width, 1),
                    line.hasOption("sync-bn"));
        }

        ImageClassifier build() {
            return ResNet.named(arch, stem, classes, width);
        }

        @Override
        public String toString() {
            return arch + " (" + stem.word() + " stem, " + classes + " classes, width " + width + ")";
        }
    }

    /** @param trainImages the largest number of images to train on @param mapped file of the decoded images to train on */
    record Data(
            Optional<Path> folder,
            OptionalDouble trainFraction,
            int trainImages,
            int testImages,
            Optional<Path> mapped) {
        static Data from(CommandLine line, CifarPreset preset) throws ParseException {
            Optional<Path> folder = Flags.path(line, "data-dir");
            if (folder.isEmpty() && line.hasOption("train-fraction")) {
                throw new ParseException("--train-fraction needs --data-dir: it splits the images there");
            }
            double fraction =
                    Flags.decimal(line, "train-fraction", 0.5, share -> share > 0 && share < 1, "between 0 and 1");
            return new Data(
                    folder,
                    line.hasOption("train-fraction") ? OptionalDouble.of(fraction) : OptionalDouble.empty(),
                    Flags.count(line, "train-images", preset.trainImages, 1),
                    Flags.count(line, "test-images", preset.testImages, 1),
                    Flags.path(line, "mapped"));
        }
    }

    /** The settings of SGD, and the epochs of the training, which are counted from 0. */
    record Schedule(
            int firstEpoch,
            int epochs,
            long maxSteps,
            double learningRate,
            double decay,
            int decayEpochs,
            double momentum,
            double weightDecay) {
        static Schedule from(CommandLine line, CifarPreset preset) throws ParseException {
            String weightDecay = line.hasOption("weight-decay") ? "weight-decay" : "wd";
            return new Schedule(
                    Flags.count(line, "start-epoch", 0, 0),
                    Flags.count(line, "epochs", preset.epochs, 1),
                    Flags.number(line, "max-steps", Long.MAX_VALUE, 1),
                    Flags.decimal(line, "lr", preset.learningRate, rate -> rate > 0, "greater than 0"),
                    Flags.decimal(line, "lr-decay", 0.1, by -> by > 0 && by <= 1, "above 0, at most 1"),
                    Flags.count(line, "lr-decay-epochs", preset.decayEpochs, 1),
                    Flags.decimal(line, "momentum", 0.9, share -> share >= 0 && share < 1, "from 0 to below 1"),
                    Flags.decimal(line, weightDecay, 1e-4, decay -> decay >= 0, "of at least 0"));
        }

        /** The learning rate of every rank, whatever the number of ranks. */
        double learningRate(int epoch) {
            return io.hvd.train.Schedule.step(learningRate, decay, decayEpochs).rate(epoch);
        }
    }

    /** @param printFreq number of steps between two lines of figures */
    record Results(
            int printFreq,
            boolean evaluateOnly,
            Optional<Path> checkpoint,
            boolean resume,
            Optional<Path> epochCsv,
            Optional<Path> predictions,
            RunFlags run) {
        static Results from(CommandLine line) throws ParseException {
            TrainingOptions.requireFileToResume(line);
            return new Results(
                    Flags.count(line, "print-freq", 10, 1),
                    line.hasOption("evaluate"),
                    Flags.path(line, "checkpoint"),
                    line.hasOption("resume"),
                    Flags.path(line, "epoch-csv"),
                    Flags.path(line, "predict-out"),
                    RunFlags.of(line));
        }

        /** The files that rank 0 writes; an evaluation only reads the checkpoint. */
        OutputFiles files() {
            Optional<Path> written = evaluateOnly ? Optional.empty() : checkpoint;
            return new OutputFiles()
                    .with("checkpoint", written)
                    .with("checkpoint", written.map(TrainingCheckpoint::bestOf))
                    .withText("epoch-csv", epochCsv)
                    .withText("predict-out", predictions);
        }
    }

    static CifarOptions from(CommandLine line) throws ParseException {
        CifarPreset preset = CifarPreset.of(line);
        ParallelMode mode = ParallelMode.of(line);
        if (mode.isDataParallel() && line.hasOption("sync-bn")) {
            throw new ParseException("--sync-bn beside --mode dp: it is over the batches of ranks, not of devices");
        }
        Precision precision = Precision.of(line);
        if (precision != Precision.FP32 && (mode.isDataParallel() || line.hasOption("sync-bn"))) {
            throw new ParseException(
                    "--amp beside --mode dp or --sync-bn: it is for ranks with batch norms of their own");
        }
        return new CifarOptions(
                Net.from(line, preset),
                Data.from(line, preset),
                Schedule.from(line, preset),
                Results.from(line),
                Flags.count(line, "batch-size", preset.batchSize, 1),
                Flags.count(line, "images-per-pass", 128, 1),
                TrainingOptions.compression(line),
                precision,
                Flags.count(line, "workers", 2, 0),
                Flags.number(line, "seed", 42, Long.MIN_VALUE),
                TorchDevice.isCuda(line),
                mode);
    }

    /** The number of samples in a rank's part of the batch. */
    int batchPerRank(int ranks) throws ParseException {
        return new GlobalBatch("batch-size", batchSize).ofEachOf(ranks);
    }
}
