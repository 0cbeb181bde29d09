package io.hvd.examples.image;

import static io.hvd.examples.Flags.valued;

import org.apache.commons.cli.Options;

/** The flags of the CIFAR-10 example, with what their help says. */
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
        all.addOption(valued("a", "arch", "the net: resnet18, which is the only one and the default"))
                .addOption(valued("stem", "first layers: cifar (3x3, no pooling; default) or imagenet (7x7, pooling)"))
                .addOption(valued("classes", "outputs of the net, default 10"))
                .addOption(valued("width", "channels of the first layers, default 64, which is ResNet-18"))
                .addOption(null, "pretrained", false, "refused: there are no trained weights to load");
    }

    private static void data(Options all) {
        all.addOption(valued(
                        "data-dir",
                        "folder with CIFAR-10's .bin files, or with train/CLASS/*.jpg and test/CLASS/*.jpg; without it"
                                + " images are drawn"))
                .addOption(valued("train-fraction", "share to train on where the folder has only one of the two parts"))
                .addOption(valued("train-images", "train on at most so many; default all, or 5000 that are drawn"))
                .addOption(valued("test-images", "evaluate at most so many; default all, or 1000 that are drawn"));
    }

    private static void length(Options all) {
        CifarPreset full = CifarPreset.FULL;
        all.addOption(valued(
                        "preset",
                        "quick: a look in about two minutes on two cores. Stands for " + CifarPreset.quickInFlags()
                                + "; flags that are given win over it"))
                .addOption(valued("epochs", "epoch at which to end, default " + full.epochs))
                .addOption(valued("start-epoch", "epoch to begin with, default 0; a resumed training knows its own"))
                .addOption(valued("max-steps", "stop after this many steps"))
                .addOption(valued(
                        "b",
                        "batch-size",
                        "samples per step of all ranks together, default " + full.batchSize
                                + "; must be a multiple of the number of ranks"))
                .addOption(valued(
                        "images-per-pass",
                        "a rank deals with its part of a batch in passes of at most so many images, which bounds the"
                                + " memory it needs; default 128"));
    }

    private static void sgd(Options all) {
        CifarPreset full = CifarPreset.FULL;
        all.addOption(valued("lr", "learning rate, not scaled by the number of ranks, default " + full.learningRate))
                .addOption(valued("lr-decay", "factor for the learning rate, default 0.1 ..."))
                .addOption(valued("lr-decay-epochs", "... after every so many epochs, default " + full.decayEpochs))
                .addOption(valued("momentum", "momentum of SGD, default 0.9"))
                .addOption(valued("wd", "weight decay of SGD, default 0.0001"))
                .addOption(valued("weight-decay", "the same as --wd"))
                .addOption(valued("seed", "seed of weights, order and drawn images, default 42"));
    }

    private static void job(Options all) {
        all.addOption(null, "fp16-allreduce", false, "gradients travel as float16")
                .addOption(null, "bf16-allreduce", false, "gradients travel as bfloat16")
                .addOption(TorchDevice.flag())
                .addOption(valued("j", "workers", "threads per rank that decode and load batches, default 2"));
    }

    private static void results(Options all) {
        all.addOption(valued("p", "print-freq", "print figures every so many steps, default 10"))
                .addOption("e", "evaluate", false, "train nothing, evaluate the model of the checkpoint file")
                .addOption(valued(
                        "checkpoint",
                        "file that rank 0 writes after each epoch, and model_best-FILE after the best one"))
                .addOption(null, "resume", false, "continue from the checkpoint file if it is there")
                .addOption(valued("epoch-csv", "file to which rank 0 adds start and seconds of every epoch"))
                .addOption(valued(
                        "predict-out",
                        "file into which rank 0 writes index, label and predicted class of every test image"));
    }
}
