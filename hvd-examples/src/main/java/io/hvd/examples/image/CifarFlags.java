package io.hvd.examples.image;

import static io.hvd.examples.Flags.valued;

import io.hvd.examples.training.ParallelMode;
import io.hvd.examples.training.TorchDevice;
import org.apache.commons.cli.Options;

/** The flags of the CIFAR-10 example, with their help texts. */
final class CifarFlags {
    private CifarFlags() {}

    static Options all() {
        Options all = new Options();
        net(all);
        data(all);
        length(all);
        sgd(all);
        job(all);
        results(all);
        return all;
    }

    private static void net(Options all) {
        all.addOption(valued(
                        "a",
                        "arch",
                        "net to train: " + String.join(", ", ResNet.names()) + "; default "
                                + ResNet.names().get(0)))
                .addOption(valued("stem", "first layers: cifar (3x3, no pooling; default) or imagenet (7x7, pooling)"))
                .addOption(valued("classes", "number of classes, default 10"))
                .addOption(valued("width", "channels of the first stage's 3x3 layers, default 64 as in the paper"))
                .addOption(null, "sync-bn", false, "batch norms over the batches of all ranks, not of each rank alone")
                .addOption(null, "pretrained", false, "refused: there are no trained weights to load");
    }

    private static void data(Options all) {
        all.addOption(valued(
                        "data-dir",
                        "folder with CIFAR-10's .bin files, or with train/CLASS/*.jpg and test/CLASS/*.jpg; without it"
                                + " the program draws images"))
                .addOption(valued(
                        "train-fraction",
                        "share of the images to train on, if the folder has only one of the two parts"))
                .addOption(valued(
                        "mapped",
                        "file in which one rank of each host puts the decoded images to train on, and which all its"
                                + " ranks map"))
                .addOption(valued(
                        "train-images", "largest number of images to train on; default all, or 5000 drawn images"))
                .addOption(valued(
                        "test-images", "largest number of images to evaluate; default all, or 1000 drawn images"));
    }

    private static void length(Options all) {
        CifarPreset full = CifarPreset.FULL;
        all.addOption(valued(
                        "preset",
                        "quick: trains for less than a minute on two cores. Stands for " + CifarPreset.quickInFlags()
                                + "; flags on the command line win over it"))
                .addOption(valued("epochs", "epoch at which the training ends, default " + full.epochs))
                .addOption(valued(
                        "start-epoch",
                        "epoch at which the training begins, default 0; a resumed training knows its own"))
                .addOption(valued("max-steps", "number of steps after which the training ends early"))
                .addOption(valued(
                        "b",
                        "batch-size",
                        "samples per step of all ranks together, default " + full.batchSize
                                + "; must be a multiple of the number of ranks"))
                .addOption(valued(
                        "images-per-pass",
                        "largest number of images in one pass of a rank, or of a device with --mode dp, which bounds its"
                                + " memory; a rank divides its part of a batch into passes; default 128"));
    }

    private static void sgd(Options all) {
        CifarPreset full = CifarPreset.FULL;
        all.addOption(valued("lr", "learning rate, not scaled by the number of ranks, default " + full.learningRate))
                .addOption(valued("lr-decay", "factor by which the learning rate is multiplied, default 0.1"))
                .addOption(valued(
                        "lr-decay-epochs", "number of epochs after which that happens, default " + full.decayEpochs))
                .addOption(valued("momentum", "momentum of SGD, default 0.9"))
                .addOption(valued("wd", "weight decay of SGD, default 0.0001"))
                .addOption(valued("weight-decay", "the same as --wd"))
                .addOption(valued("seed", "seed of weights, order and drawn images, default 42"));
    }

    private static void job(Options all) {
        all.addOption(null, "fp16-allreduce", false, "gradients travel as float16")
                .addOption(null, "bf16-allreduce", false, "gradients travel as bfloat16")
                .addOption(Precision.flag())
                .addOption(TorchDevice.flag())
                .addOption(valued("j", "workers", "threads per rank that decode and load batches, default 2"));
        ParallelMode.addTo(all);
    }

    private static void results(Options all) {
        all.addOption(valued("p", "print-freq", "number of steps between two lines of figures, default 10"))
                .addOption("e", "evaluate", false, "only evaluate the model of the checkpoint file")
                .addOption(
                        valued(
                                "checkpoint",
                                "file that rank 0 writes after each epoch; after the best epoch it also writes model_best-FILE"))
                .addOption(null, "resume", false, "continue from the checkpoint file if it exists")
                .addOption(RunFlags.flag())
                .addOption(valued("epoch-csv", "file to which rank 0 adds start and seconds of every epoch"))
                .addOption(valued(
                        "predict-out",
                        "file into which rank 0 writes index, label and predicted class of every test image"));
    }
}
