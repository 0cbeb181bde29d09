package io.hvd.examples.demo;

import static org.bytedeco.pytorch.global.torch.relu;

import io.hvd.examples.training.SeededModule;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * Neighbouring layers of a net of dense layers with ReLU between them, the last of which has 5 values and the others 10. With two
 * layers the net is the toy model.
 */
final class ToyStage extends Module {
    private final List<LinearImpl> layers = new ArrayList<>();
    private final boolean endsTheNet;

    private ToyStage(long seed, int first, int end, int layersOfNet) {
        endsTheNet = end == layersOfNet;
        for (int layer = first; layer < end; layer++) {
            int outputs = layer + 1 == layersOfNet ? ToyModel.OUTPUTS : ToyModel.HIDDEN;
            // Each layer has a seed of its own, so that a stage has the weights which the whole net has there.
            LinearImpl linear = SeededModule.seeded(seed + layer, () -> new LinearImpl(ToyModel.HIDDEN, outputs));
            layers.add(register_module("net" + (layer + 1), linear));
        }
    }

    /** The layers of one stage of a pipeline; with one stage, all of them. */
    static ToyStage of(long seed, int stage, int stages) {
        return stages == 1 ? whole(seed, 1) : new ToyStage(seed, stage, stage + 1, stages);
    }

    /** All layers of a pipeline with so many stages. */
    static ToyStage whole(long seed, int stages) {
        int layers = Math.max(2, stages);
        return new ToyStage(seed, 0, layers, layers);
    }

    /** @param x (rows, 10) @return (rows, 10), or (rows, 5) at the end of the net */
    Tensor forward(Tensor x) {
        Tensor values = x;
        for (int i = 0; i < layers.size(); i++) {
            values = layers.get(i).forward(values);
            values = endsTheNet && i + 1 == layers.size() ? values : relu(values);
        }
        return values;
    }
}
