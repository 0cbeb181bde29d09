package io.hvd.optimizer.torch;

import java.util.List;
import org.bytedeco.pytorch.AnyModule;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SequentialImpl;
import org.bytedeco.pytorch.Tensor;

/**
 * A {@code SequentialImpl} whose layers are called from Java one after the other, because LibTorch would not call those that are
 * written in Java. It shares its native layers with the one whose place it takes.
 */
final class SyncSequential extends SequentialImpl {
    private final List<Layer> layers;

    SyncSequential(List<Layer> layers) {
        this.layers = List.copyOf(layers);
        layers.forEach(layer -> push_back(layer.name, layer.shared));
    }

    /** A layer as Java calls it. */
    interface Step {
        Tensor forward(Tensor input);
    }

    /**
     * One layer.
     *
     * @param shared the native layer
     * @param step what forward calls
     */
    record Layer(String name, AnyModule shared, Step step) {}

    static Step step(Module synchronised) {
        if (synchronised instanceof SyncBatchNorm1d layer) {
            return layer::forward;
        } else if (synchronised instanceof SyncBatchNorm2d layer) {
            return layer::forward;
        }
        return ((SyncBatchNorm3d) synchronised)::forward;
    }

    @Override
    public Tensor forward(Tensor input) {
        Tensor x = input;
        for (Layer layer : layers) {
            x = layer.step.forward(x);
        }
        return x;
    }
}
