package io.hvd.examples.image;

import static io.hvd.examples.Flags.valued;

import io.hvd.Compression;
import io.hvd.examples.CompressionFlags;
import io.hvd.examples.Flags;
import io.hvd.examples.data.PhotoSets;
import io.hvd.examples.training.AdasumFlag;
import io.hvd.examples.training.TorchDevice;
import io.hvd.train.Schedule;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of the ImageNet example.
 *
 * @param width channels of the first layers; 64 in the paper
 * @param batchSize images per rank and backward pass
 * @param batchesPerAllreduce backward passes before each step
 * @param labelSmoothing the share of the loss that is spread evenly over all classes
 * @param checkpoints a pattern of file names; empty if nothing is saved
 */
record ImageNetOptions(
        Data data,
        Sgd sgd,
        String model,
        int width,
        int epochs,
        long maxSteps,
        int batchSize,
        int valBatchSize,
        int batchesPerAllreduce,
        double labelSmoothing,
        Compression compression,
        boolean adasum,
        double predivideFactor,
        Optional<EpochFiles> checkpoints,
        RunFlags run,
        int workers,
        long seed,
        boolean cuda) {
    private static final String PREDIVIDE = "gradient-predivide-factor";

    /**
     * The images.
     *
     * @param classes of images that the program draws
     * @param skipping whether images to train on that cannot be decoded are replaced
     */
    record Data(
            Optional<Path> train,
            Optional<Path> validation,
            int imageSize,
            int classes,
            int trainImages,
            int valImages,
            boolean skipping) {
        /** The last layers have a single pixel of smaller images, and a batch norm has no deviation of one pixel of one image. */
        private static final int SMALLEST_IMAGE = 33;

        static Data from(CommandLine line, ImageNetPreset preset) throws ParseException {
            Optional<Path> train = Flags.path(line, "train-dir");
            Optional<Path> validation = Flags.path(line, "val-dir");
            if (train.isPresent() != validation.isPresent()) {
                throw new ParseException(
                        "--train-dir and --val-dir need each other; without both the program draws images");
            }
            for (String drawn : new String[] {"classes", "train-images", "val-images"}) {
                if (train.isPresent() && line.hasOption(drawn)) {
                    throw new ParseException("--" + drawn + " and --train-dir exclude each other: it is for images that"
                            + " the program draws");
                }
            }
            return new Data(
                    train,
                    validation,
                    Flags.count(line, "image-size", preset.imageSize, SMALLEST_IMAGE),
                    Flags.count(line, "classes", preset.classes, 1),
                    Flags.count(line, "train-images", preset.trainImages, 1),
                    Flags.count(line, "val-images", preset.valImages, 1),
                    line.hasOption("skip-corrupt"));
        }

        /** Opens the folders, or gets images to draw, of up to twice the size that the training sees. */
        PhotoSets open(long seed) throws IOException {
            return train.isPresent()
                    ? PhotoSets.open(train.get(), validation.orElseThrow())
                    : PhotoSets.drawn(trainImages, valImages, classes, 2 * imageSize, seed);
        }
    }

    /** The settings of SGD. @param baseRate the learning rate of one rank with one backward pass per step */
    record Sgd(double baseRate, int warmUpEpochs, double momentum, double weightDecay) {
        private static final double DECAY = 0.1;
        private static final double[] DECAY_EPOCHS = {30, 60, 80};

        static Sgd from(CommandLine line, ImageNetPreset preset) throws ParseException {
            return new Sgd(
                    Flags.decimal(line, "base-lr", preset.baseRate, rate -> rate > 0, "greater than 0"),
                    Flags.count(line, "warmup-epochs", preset.warmUpEpochs, 0),
                    Flags.decimal(line, "momentum", 0.9, share -> share >= 0 && share < 1, "from 0 to below 1"),
                    Flags.decimal(line, "wd", 0.00005, decay -> decay >= 0, "of at least 0"));
        }

        /**
         * The learning rate by the epoch: it grows from that of one rank to that of all, and falls to a tenth at the epochs 30, 60
         * and 80.
         *
         * @param factor the number of ranks, or 1 with Adasum, which lengthens the steps itself
         */
        Schedule schedule(int factor, int batchesPerAllreduce) {
            Schedule whole = Schedule.multiFactor(baseRate * factor * batchesPerAllreduce, DECAY, DECAY_EPOCHS);
            return warmUpEpochs == 0 ? whole : whole.warmUp(factor, warmUpEpochs);
        }
    }

    static Options flags() {
        Options flags = new Options();
        addData(flags);
        addTraining(flags);
        addJob(flags);
        return flags;
    }

    private static void addData(Options flags) {
        ImageNetPreset full = ImageNetPreset.FULL;
        flags.addOption(valued(
                        "train-dir",
                        "folder of the images to train on, with a folder of JPEG and PNG files for each class; without it"
                                + " the program draws images"))
                .addOption(valued("val-dir", "folder of the images to evaluate, laid out alike"))
                .addOption(
                        null,
                        "skip-corrupt",
                        false,
                        "replace images to train on that cannot be decoded, and name them at"
                                + " the end; without it they end the training")
                .addOption(valued("image-size", "rows and columns that the net sees, default " + full.imageSize))
                .addOption(valued("classes", "number of classes of drawn images, default " + full.classes))
                .addOption(valued("train-images", "number of drawn images to train on, default " + full.trainImages))
                .addOption(valued("val-images", "number of drawn images to evaluate, default " + full.valImages))
                .addOption(valued("j", "workers", "threads per rank that decode and crop images, default 2"));
    }

    private static void addTraining(Options flags) {
        ImageNetPreset full = ImageNetPreset.FULL;
        flags.addOption(valued("model", "net: one of " + ResNet.names() + ", default " + full.model))
                .addOption(valued("width", "channels of the first layers, default 64 as in the paper"))
                .addOption(valued(
                        ImageNetPreset.FLAG,
                        "quick: stands for " + ImageNetPreset.QUICK.inFlags()
                                + "; flags on the command line win over it"))
                .addOption(valued("epochs", "epoch at which the training ends, default " + full.epochs))
                .addOption(valued("max-steps", "number of steps after which the training ends early"))
                .addOption(valued("batch-size", "images per rank and backward pass, default " + full.batchSize))
                .addOption(valued("val-batch-size", "images per rank in a batch of the evaluation, default 32"))
                .addOption(valued(
                        "batches-per-allreduce",
                        "backward passes whose gradients a rank adds up for a step, default 1"))
                .addOption(valued(
                        "base-lr",
                        "learning rate of one rank and one backward pass, by both of which it is multiplied, default "
                                + full.baseRate))
                .addOption(valued(
                        "warmup-epochs",
                        "epochs in which the rate grows from that of one rank to that of all, default "
                                + full.warmUpEpochs))
                .addOption(valued("momentum", "momentum of SGD, default 0.9"))
                .addOption(valued("wd", "weight decay of SGD, default 0.00005"))
                .addOption(valued("label-smoothing", "share of the loss that all classes have in common, default 0.1"));
    }

    private static void addJob(Options flags) {
        CompressionFlags.addTo(flags);
        flags.addOption(AdasumFlag.flag())
                .addOption(valued(PREDIVIDE, "gradients are divided by this before they are added up, default 1"))
                .addOption(valued(
                        "checkpoint-format",
                        "file that rank 0 writes after each epoch, with {epoch} in its name, or none; the training goes on"
                                + " from the one of the highest epoch. Default with --train-dir " + EpochFiles.USUAL
                                + ", none for drawn images"))
                .addOption(RunFlags.flag())
                .addOption(RunFlags.horovodsFlag())
                .addOption(valued("seed", "seed of weights, order, crops and drawn images, default 42"))
                .addOption(TorchDevice.noCudaFlag())
                .addOption(TorchDevice.flag());
    }

    static ImageNetOptions from(CommandLine line) throws ParseException {
        ImageNetPreset preset = ImageNetPreset.of(line);
        boolean adasum = AdasumFlag.of(line);
        double predivide = Flags.decimal(line, PREDIVIDE, 1, factor -> factor > 0, "above 0");
        if (adasum && predivide != 1) {
            throw new ParseException("--" + PREDIVIDE + " other than 1 and --use-adasum exclude each other");
        }
        Data data = Data.from(line, preset);
        // Trials on drawn images leave no files, and do not go on with each other.
        Optional<EpochFiles> checkpoints =
                EpochFiles.of(line, "checkpoint-format", data.train().isPresent() ? EpochFiles.USUAL : EpochFiles.NONE);
        return new ImageNetOptions(
                data,
                Sgd.from(line, preset),
                line.hasOption("model") ? Flags.oneOf(line, "model", ResNet.names()) : preset.model,
                Flags.count(line, "width", 64, 1),
                Flags.count(line, "epochs", preset.epochs, 1),
                Flags.number(line, "max-steps", Long.MAX_VALUE, 1),
                Flags.count(line, "batch-size", preset.batchSize, 1),
                Flags.count(line, "val-batch-size", 32, 1),
                Flags.count(line, "batches-per-allreduce", 1, 1),
                Flags.decimal(line, "label-smoothing", 0.1, share -> share >= 0 && share < 1, "from 0 to below 1"),
                CompressionFlags.of(line),
                adasum,
                predivide,
                checkpoints,
                RunFlags.of(line, checkpoints.isPresent()),
                Flags.count(line, "workers", 2, 0),
                Flags.number(line, "seed", 42, Long.MIN_VALUE),
                TorchDevice.isCuda(line));
    }

    /** The learning rate of every rank, by the epoch. */
    Schedule schedule(int ranks) {
        return sgd.schedule(adasum ? 1 : ranks, batchesPerAllreduce);
    }
}
