package io.hvd.examples.demo;

import static org.bytedeco.pytorch.global.torch.mse_loss;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.data.DataOrigin;
import io.hvd.examples.training.SeededModule;
import io.hvd.examples.training.TorchDevice;
import io.hvd.examples.training.WeightCheck;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.train.Checkpoint;
import io.hvd.train.MeanMetric;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;

/** Trains the toy model on every rank's own samples, and has all ranks load what rank 0 has saved. */
final class ToyTraining {
    private static final int WEIGHTS_DIFFER = 1;
    /** Set apart from the ranks' seeds, so that weights that were not loaded show. */
    private static final long OTHER_WEIGHTS = 1_000_003;

    private final HvdContext hvd;
    private final ToyOptions options;
    private final Demo demo;
    private final ToyDevices devices;
    private final ToyModel model;
    private final DistributedOptimizer optimizer;

    ToyTraining(HvdContext hvd, ToyOptions options) throws ExampleFailure {
        this.hvd = hvd;
        this.options = options;
        this.demo = new Demo(ToyExample.NAME, hvd);
        this.devices = ToyDevices.of(hvd, options);
        // The ranks have different weights until those of rank 0 are broadcast.
        this.model = newModel(options.seed() + hvd.rank());
        this.optimizer = DistributedOptimizer.wrap(new TorchOptimizer(
                        new SGD(model.parameters(), new SGDOptions(options.learningRate())), model.named_parameters()))
                .context(hvd)
                .build();
    }

    private ToyModel newModel(long seed) {
        return SeededModule.seeded(seed, ToyModel::new).onto(devices.first(), devices.second());
    }

    /** Trains. @return the exit code */
    int train() {
        double loss = steps();
        WeightCheck weights = WeightCheck.of(hvd, model);
        demo.say("%s", weights);
        return finish(loss, weights);
    }

    /** Trains, saves on rank 0, and loads on every rank into a model with other weights. @return the exit code */
    int trainSaveAndLoad() throws ExampleFailure, IOException {
        double loss = steps();
        WeightCheck trained = WeightCheck.of(hvd, model);
        Path file = save();
        ToyModel loaded = newModel(options.seed() + OTHER_WEIGHTS + hvd.rank());
        demo.requireNone(load(file, loaded));
        WeightCheck weights = WeightCheck.of(hvd, loaded);
        demo.sayOwn("the parameters from %s have crc32 %08x", file.getFileName(), weights.checksums()[hvd.rank()]);
        if (hvd.rank() == 0 && options.checkpoint().isEmpty()) {
            Files.delete(file);
        }
        demo.say("%s", weights);
        boolean asTrained = weights.areEqual() && weights.checksums()[0] == trained.checksums()[0];
        return Math.max(finish(loss, weights), asTrained ? 0 : WEIGHTS_DIFFER);
    }

    private int finish(double loss, WeightCheck weights) {
        demo.result(
                "part=%s steps=%d loss=%.6f weights=%s data=%s",
                options.part(), options.steps(), loss, weights.areEqual() ? "equal" : "different", DataOrigin.DRAWN);
        return weights.areEqual() ? 0 : WEIGHTS_DIFFER;
    }

    /** Makes the steps; returns the mean loss over the samples of all ranks after them. */
    private double steps() {
        demo.sayWhere(devices);
        optimizer.broadcastParameters(0);
        long seed = options.seed() + 2L * hvd.rank() + 1;
        try (PointerScope scope = new PointerScope()) {
            Tensor inputs = on(devices.first(), ToyModel.normal(seed, options.batchSize(), ToyModel.INPUTS));
            Tensor labels = on(devices.second(), ToyModel.normal(seed + 1, options.batchSize(), ToyModel.OUTPUTS));
            for (int step = 0; step < options.steps(); step++) {
                optimizer.zeroGradients();
                mse_loss(model.forward(inputs), labels).backward();
                optimizer.step();
            }
            MeanMetric loss = new MeanMetric("loss");
            double mine = mse_loss(model.forward(inputs), labels).item_float();
            loss.add(mine * options.batchSize(), options.batchSize());
            return loss.reduce(hvd).mean();
        }
    }

    private static Tensor on(Device device, Tensor tensor) {
        return new TorchDevice(device).onto(tensor);
    }

    /** Saves on rank 0, and tells all ranks where; they go on when the file is there. */
    private Path save() throws ExampleFailure {
        String path = "";
        String mistake = "";
        if (hvd.rank() == 0) {
            try {
                Path file = options.checkpoint().isPresent()
                        ? options.checkpoint().get()
                        : Files.createTempFile("hvd-toy", ".safetensors");
                new Checkpoint(StateDict.of(model), Map.of("steps", String.valueOf(options.steps()))).write(file);
                path = file.toAbsolutePath().toString();
            } catch (IOException e) {
                mistake = "cannot write the checkpoint: " + e;
            }
        }
        demo.requireNone(mistake);
        return Path.of(hvd.broadcastObject("toy.checkpoint", path, ObjectCodec.utf8(), 0));
    }

    private static String load(Path file, ToyModel into) {
        try {
            StateDict.load(into, Checkpoint.read(file).tensors());
            return "";
        } catch (IOException e) {
            return "cannot read the checkpoint of rank 0, which --checkpoint puts on a disk that all ranks see: " + e;
        }
    }
}
