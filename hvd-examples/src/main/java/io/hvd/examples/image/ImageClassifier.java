package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.createCPUGenerator;
import static org.bytedeco.pytorch.global.torch.empty;
import static org.bytedeco.pytorch.global.torch.manual_seed;

import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.Tensor;
import java.util.Map;
import java.util.SortedMap;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** A LibTorch module from images to log-probabilities of classes. */
public abstract class ImageClassifier extends Module {
    /**
     * The lock on LibTorch's generator, from which all weights of a process are drawn, because ranks may be threads.
     */
    private static final Object GENERATOR = new Object();

    /** A generator of this model's own: ranks that are threads of one process would share LibTorch's. */
    private final Generator masks = createCPUGenerator();

    /** Draws the weights by the seed alone. */
    public static <M extends Module> M seeded(long seed, Supplier<M> net) {
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

    /** Does the same with float32 images and results, whatever type the model's weights have. */
    final org.bytedeco.pytorch.Tensor classify(org.bytedeco.pytorch.Tensor images) {
        ScalarType own = parameters().get(0).scalar_type();
        if (own.value == ScalarType.Float.value) {
            return forward(images);
        }
        return forward(images.to(own)).to(ScalarType.Float);
    }

    /** Seeds dropout, whose random numbers then depend on this seed only. */
    final void seedDropout(long seed) {
        masks.set_current_seed(seed);
    }

    /** Sets each element to zero with this probability and scales the others up, in training only. */
    final org.bytedeco.pytorch.Tensor dropout(org.bytedeco.pytorch.Tensor x, double probability) {
        return dropout(x, probability, x.sizes().vec().get());
    }

    /** Does the same with whole channels. @param x (batch, channels, rows, columns) */
    final org.bytedeco.pytorch.Tensor dropoutOfChannels(org.bytedeco.pytorch.Tensor x, double probability) {
        return dropout(x, probability, x.size(0), x.size(1), 1, 1);
    }

    private org.bytedeco.pytorch.Tensor dropout(org.bytedeco.pytorch.Tensor x, double probability, long... shape) {
        if (!is_training()) {
            return x;
        }
        double keep = 1 - probability;
        org.bytedeco.pytorch.Tensor mask = empty(shape).bernoulli_(keep, new GeneratorOptional(masks));
        return x.mul(mask.div_(new Scalar(keep)).to(x.device(), x.scalar_type()));
    }

    /** The tensors that a training changes without a gradient, such as running statistics, by name. */
    SortedMap<String, Tensor> statistics() {
        SortedMap<String, Tensor> buffers = TorchTensors.state(this);
        Map<String, Tensor> parameters = TorchTensors.parameters(this);
        buffers.keySet().removeAll(parameters.keySet());
        return buffers;
    }
}
