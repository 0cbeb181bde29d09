package io.hvd.examples.synthetic;

import static org.bytedeco.pytorch.global.torch.log_softmax;
import static org.bytedeco.pytorch.global.torch.relu;

import io.hvd.examples.image.ImageClassifier;
import java.util.List;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;

/** Three dense layers over all pixels: many gradients for little work, the contrary of a convolution. */
final class MlpClassifier extends ImageClassifier {
    private static final int HIDDEN = 256;

    private final List<LinearImpl> layers;

    /** @param pixels numbers of an image, all channels together */
    MlpClassifier(int pixels, int classes) {
        layers = List.of(
                register_module("dense1", new LinearImpl(pixels, HIDDEN)),
                register_module("dense2", new LinearImpl(HIDDEN, HIDDEN)),
                register_module("dense3", new LinearImpl(HIDDEN, classes)));
    }

    @Override
    public Tensor forward(Tensor images) {
        Tensor x = layers.get(0).forward(images.flatten(1, -1));
        for (LinearImpl layer : layers.subList(1, layers.size())) {
            x = layer.forward(relu(x));
        }
        return log_softmax(x, 1);
    }
}
