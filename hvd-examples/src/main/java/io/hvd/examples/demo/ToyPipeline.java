package io.hvd.examples.demo;

import static org.bytedeco.pytorch.global.torch.empty;
import static org.bytedeco.pytorch.global.torch.mse_loss;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.examples.data.DataOrigin;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.ReduceOp;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorArrayRefOptional;

/**
 * Trains a net whose layers lie on different ranks, each of which is a stage of a pipeline. A batch goes through it in micro-batches:
 * first all forward passes, then all backward passes, then a step of every stage (Y. Huang et al., "GPipe: Efficient Training of
 * Giant Neural Networks using Pipeline Parallelism", NeurIPS 2019). While a stage works on one micro-batch, the stage before it
 * works on the next one.
 *
 * <p>Each rank also trains the whole net by itself, on the whole batch, and compares its own layers with it.
 */
final class ToyPipeline {
    /** Sums over micro-batches are rounded in another order than sums over the batch. */
    private static final double LARGEST_DIFFERENCE = 1e-5;

    private static final int DIFFERS = 1;

    private final HvdContext hvd;
    private final ToyOptions options;
    private final Demo demo;
    private final TorchDevice device;
    private final ToyStage stage;
    private final SGD sgd;
    private final List<Handle> sends = new ArrayList<>();

    ToyPipeline(HvdContext hvd, ToyOptions options) {
        this.hvd = hvd;
        this.options = options;
        this.demo = new Demo(ToyExample.NAME, hvd);
        this.device = TorchDevice.of(hvd, options.cuda());
        this.stage = device.onto(ToyStage.of(options.seed(), hvd.rank(), hvd.size()));
        this.sgd = sgd(stage);
    }

    private SGD sgd(ToyStage net) {
        return new SGD(net.parameters(), new SGDOptions(options.learningRate()));
    }

    /** A micro-batch between its two passes. @param index its number, which is the tag of its messages */
    private record Pass(int index, Tensor input, Tensor output) {}

    /** Trains. @return the exit code */
    int run() {
        int stages = hvd.size();
        int parts = options.microBatches();
        demo.sayOwn(
                "stage %d of %d runs on %s with the layers %s",
                hvd.rank() + 1,
                stages,
                hvd.hosts().get(hvd.rank()),
                TorchTensors.parameters(stage).keySet());
        double loss = 0;
        for (int step = 0; step < options.steps(); step++) {
            loss = step();
        }
        double difference = differenceOfAllStages();
        demo.say(
                "%d micro-batches through %d stages: a stage is idle for %.0f %% of a step if all stages take as long",
                parts, stages, 100.0 * (stages - 1) / (parts + stages - 1));
        demo.result(
                "part=%s stages=%d micro_batches=%d steps=%d loss=%.6f difference=%.1e data=%s",
                options.part(), stages, parts, options.steps(), loss, difference, DataOrigin.DRAWN);
        return difference <= LARGEST_DIFFERENCE ? 0 : DIFFERS;
    }

    private boolean isFirst() {
        return hvd.rank() == 0;
    }

    private boolean isLast() {
        return hvd.rank() == hvd.size() - 1;
    }

    private Tensor inputs() {
        return device.onto(ToyModel.normal(options.seed(), options.batchSize(), ToyModel.INPUTS));
    }

    private Tensor labels() {
        return device.onto(ToyModel.normal(options.seed() + 1, options.batchSize(), ToyModel.OUTPUTS));
    }

    /** Makes a step; returns the loss of the whole batch before it. */
    private double step() {
        try (PointerScope scope = new PointerScope()) {
            sgd.zero_grad();
            Tensor inputs = inputs();
            Tensor labels = labels();
            List<Pass> passes = new ArrayList<>();
            for (int part = 0; part < options.microBatches(); part++) {
                passes.add(forward(part, isFirst() ? rows(inputs, part) : received(part)));
            }
            double loss = 0;
            for (Pass pass : passes) {
                loss += backward(pass, labels);
            }
            sends.forEach(Handle::synchronize);
            sends.clear();
            sgd.step();
            io.hvd.tensor.Tensor ofLastStage = io.hvd.tensor.Tensor.of(loss);
            return ((double[]) hvd.broadcast("toy.loss", ofLastStage, hvd.size() - 1)
                            .toArray())
                    [0];
        }
    }

    private Pass forward(int part, Tensor input) {
        Tensor output = stage.forward(input);
        if (!isLast()) {
            send(output.detach(), hvd.rank() + 1, 2 * part);
        }
        return new Pass(part, input, output);
    }

    /** Returns this micro-batch's share of the batch's loss on the last stage, and 0 on the others. */
    private double backward(Pass pass, Tensor labels) {
        double loss = 0;
        if (isLast()) {
            double share = (double) size(pass.index()) / options.batchSize();
            Tensor ofPart = mse_loss(pass.output(), rows(labels, pass.index())).mul(new Scalar(share));
            ofPart.backward();
            loss = ofPart.item_float();
        } else {
            Tensor gradient = receive(pass.output().size(0), hvd.rank() + 1, 2 * pass.index() + 1);
            pass.output().backward(gradient, new BoolOptional(), false, new TensorArrayRefOptional());
        }
        if (!isFirst()) {
            send(pass.input().grad(), hvd.rank() - 1, 2 * pass.index() + 1);
        }
        return loss;
    }

    private Tensor received(int part) {
        return receive(size(part), hvd.rank() - 1, 2 * part).requires_grad_(true);
    }

    private Tensor receive(long rows, int from, int tag) {
        Tensor values = device.onto(empty(rows, ToyModel.HIDDEN));
        hvd.receive(TorchTensors.alias("what stage " + (from + 1) + " sends", values), from, tag);
        return values;
    }

    /** Sends while this rank goes on. */
    private void send(Tensor values, int to, int tag) {
        sends.add(hvd.sendAsync(
                TorchTensors.alias("what stage " + (to + 1) + " receives", values.contiguous()), to, tag));
    }

    private int begin(int part) {
        return (int) ((long) options.batchSize() * part / options.microBatches());
    }

    private int size(int part) {
        return begin(part + 1) - begin(part);
    }

    private Tensor rows(Tensor batch, int part) {
        return batch.narrow(0, begin(part), size(part));
    }

    /** The largest difference of a parameter from the net that was trained without a pipeline. */
    private double differenceOfAllStages() {
        TreeMap<String, io.hvd.tensor.Tensor> whole = TorchTensors.parameters(trainedWithoutPipeline());
        double[] largest = {0};
        TorchTensors.parameters(stage).forEach((name, values) -> {
            float[] found = values.toFloatArray();
            float[] expected = whole.get(name).toFloatArray();
            for (int i = 0; i < found.length; i++) {
                largest[0] = Math.max(largest[0], Math.abs(found[i] - (double) expected[i]));
            }
        });
        return ((double[]) hvd.allreduce(
                                "toy.difference",
                                io.hvd.tensor.Tensor.of(largest[0]),
                                AllreduceOptions.of(ReduceOp.MAX))
                        .toArray())
                [0];
    }

    private ToyStage trainedWithoutPipeline() {
        ToyStage net = device.onto(ToyStage.whole(options.seed(), hvd.size()));
        SGD alone = sgd(net);
        for (int step = 0; step < options.steps(); step++) {
            try (PointerScope scope = new PointerScope()) {
                alone.zero_grad();
                mse_loss(net.forward(inputs()), labels()).backward();
                alone.step();
            }
        }
        return net;
    }
}
