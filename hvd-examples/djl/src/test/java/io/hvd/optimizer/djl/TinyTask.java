package io.hvd.optimizer.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.BatchNorm;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Sampler;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import io.hvd.HvdContext;
import java.util.LinkedHashMap;
import java.util.Map;

/** A regression of 48 samples that a net of two layers learns; small enough for several ranks as threads. */
final class TinyTask {
    static final int SAMPLES = 48;
    static final Shape INPUT = new Shape(1, 3);

    private TinyTask() {}

    /** With other weights on each rank, which the broadcast must overcome; the engine's random numbers are shared by all threads. */
    static Model model(HvdContext hvd, boolean norm) {
        DjlEngine.load(hvd);
        return model(hvd.rank(), norm);
    }

    /** @param number of its weights */
    static Model model(int number, boolean norm) {
        Model model = Model.newInstance("tiny", Device.cpu());
        SequentialBlock block =
                new SequentialBlock().add(Linear.builder().setUnits(5).build()).add(Activation::tanh);
        if (norm) {
            block.add(BatchNorm.builder().build());
        }
        model.setBlock(block.add(Linear.builder().setUnits(2).build()));
        block.setInitializer((manager, shape, type) -> waves(manager, shape, number), Parameter.Type.WEIGHT);
        return model;
    }

    /** With weights that DJL's engine draws, in so many layers that ranks draw at the same time. */
    static Model modelOfRandomWeights(HvdContext hvd) {
        DjlEngine.load(hvd);
        Model model = Model.newInstance("drawn", Device.cpu());
        SequentialBlock block = new SequentialBlock();
        for (int layer = 0; layer < 20; layer++) {
            block.add(Linear.builder().setUnits(8).build());
        }
        model.setBlock(block);
        return model;
    }

    /** Many layers of one weight and one bias. */
    static Model deepModel(HvdContext hvd, int layers) {
        DjlEngine.load(hvd);
        Model model = Model.newInstance("deep", Device.cpu());
        SequentialBlock block = new SequentialBlock();
        for (int layer = 0; layer < layers; layer++) {
            block.add(Linear.builder().setUnits(1).build());
        }
        model.setBlock(block);
        return model;
    }

    /** The first layer twice, and then another one. */
    static Model tiedModel(HvdContext hvd) {
        DjlEngine.load(hvd);
        Model model = Model.newInstance("tied", Device.cpu());
        Linear shared = Linear.builder().setUnits(3).build();
        SequentialBlock block = new SequentialBlock()
                .add(shared)
                .add(shared)
                .add(Linear.builder().setUnits(2).build());
        block.setInitializer((manager, shape, type) -> waves(manager, shape, hvd.rank()), Parameter.Type.WEIGHT);
        model.setBlock(block);
        return model;
    }

    static DefaultTrainingConfig config(Optimizer optimizer, TrainingListener... listeners) {
        return new DefaultTrainingConfig(Loss.l2Loss())
                .optDevices(new Device[] {Device.cpu()})
                .optOptimizer(optimizer)
                .addTrainingListeners(listeners);
    }

    static ArrayDataset data(NDManager manager, Sampler sampler) {
        float[] inputs = new float[SAMPLES * 3];
        float[] outputs = new float[SAMPLES * 2];
        for (int i = 0; i < SAMPLES; i++) {
            for (int j = 0; j < 3; j++) {
                inputs[3 * i + j] = (float) Math.sin(0.7 * i + j);
            }
            outputs[2 * i] = inputs[3 * i] - inputs[3 * i + 1];
            outputs[2 * i + 1] = inputs[3 * i + 2];
        }
        return new ArrayDataset.Builder()
                .setData(manager.create(inputs, new Shape(SAMPLES, 3)))
                .optLabels(manager.create(outputs, new Shape(SAMPLES, 2)))
                .setSampling(sampler)
                .build();
    }

    private static NDArray waves(NDManager manager, Shape shape, int rank) {
        float[] values = new float[(int) shape.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) Math.cos(1.3 * i + 10 * rank) / 2;
        }
        return manager.create(values, shape);
    }

    static Map<String, float[]> weights(Model model) {
        Map<String, float[]> weights = new LinkedHashMap<>();
        model.getBlock()
                .getParameters()
                .forEach(pair ->
                        weights.put(pair.getKey(), pair.getValue().getArray().toFloatArray()));
        return weights;
    }
}
