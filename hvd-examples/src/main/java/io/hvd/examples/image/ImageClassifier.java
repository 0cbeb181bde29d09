package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.manual_seed;

import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.Tensor;
import java.util.Map;
import java.util.SortedMap;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Module;

/** A LibTorch module from images to log-probabilities of classes. */
public abstract class ImageClassifier extends Module {
    /** LibTorch draws all weights of a process from one generator, and ranks may be threads. */
    private static final Object GENERATOR = new Object();

    /** Draws the weights by the seed alone. */
    public static ImageClassifier seeded(long seed, Supplier<ImageClassifier> net) {
        synchronized (GENERATOR) {
            manual_seed(seed);
            return net.get();
        }
    }

    /**
     * @param images (batch, channels, rows, columns)
     * @return (batch, classes)
     */
    public abstract org.bytedeco.pytorch.Tensor forward(org.bytedeco.pytorch.Tensor images);

    /** What a training changes without a gradient, such as running statistics, by name. */
    SortedMap<String, Tensor> statistics() {
        SortedMap<String, Tensor> buffers = TorchTensors.state(this);
        Map<String, Tensor> parameters = TorchTensors.parameters(this);
        buffers.keySet().removeAll(parameters.keySet());
        return buffers;
    }
}
