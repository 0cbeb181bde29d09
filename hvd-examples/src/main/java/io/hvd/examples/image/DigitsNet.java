package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.log_softmax;
import static org.bytedeco.pytorch.global.torch.max_pool2d;
import static org.bytedeco.pytorch.global.torch.relu;

import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.Conv2dOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;

/**
 * A small convolutional net for 8x8 images: two convolutions, a pooling, two dense layers. It has dropout, because a
 * net without dropout soon overfits on so few images.
 */
final class DigitsNet extends ImageClassifier {
    private final Conv2dImpl conv1 = register_module("conv1", convolution(1, 16));
    private final Conv2dImpl conv2 = register_module("conv2", convolution(16, 32));
    private final LinearImpl dense1 = register_module("dense1", new LinearImpl(32 * 4 * 4, 64));
    private final LinearImpl dense2 = register_module("dense2", new LinearImpl(64, 10));

    @Override
    public Tensor forward(Tensor images) {
        Tensor x = relu(conv1.forward(images));
        x = max_pool2d(relu(conv2.forward(x)), 2);
        x = dropout(x.flatten(1, -1), 0.25);
        x = dropout(relu(dense1.forward(x)), 0.5);
        return log_softmax(dense2.forward(x), 1);
    }

    private static Conv2dImpl convolution(long in, long out) {
        Conv2dOptions options = new Conv2dOptions(in, out, new LongPointer(3, 3));
        options.padding().put(new LongPointer(1, 1));
        return new Conv2dImpl(options);
    }
}
