package io.hvd.examples.image;

import io.hvd.examples.training.SeededModule;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.Tensor;
import java.util.Map;
import java.util.SortedMap;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** A LibTorch module from images to log-probabilities of classes. */
public abstract class ImageClassifier extends SeededModule {
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

    /** The tensors that a training changes without a gradient, such as running statistics, by name. */
    SortedMap<String, Tensor> statistics() {
        SortedMap<String, Tensor> buffers = TorchTensors.state(this);
        Map<String, Tensor> parameters = TorchTensors.parameters(this);
        buffers.keySet().removeAll(parameters.keySet());
        return buffers;
    }
}
