package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.log_softmax;
import static org.bytedeco.pytorch.global.torch.max_pool2d;
import static org.bytedeco.pytorch.global.torch.relu;

import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;

/** The net of Horovod's MNIST example: 21,840 parameters for 28x28 images. */
public final class MnistNet extends ImageClassifier {
    private final Conv2dImpl conv1 = register_module("conv1", new Conv2dImpl(1, 10, new LongPointer(5, 5)));
    private final Conv2dImpl conv2 = register_module("conv2", new Conv2dImpl(10, 20, new LongPointer(5, 5)));
    private final LinearImpl dense1 = register_module("fc1", new LinearImpl(320, 50));
    private final LinearImpl dense2 = register_module("fc2", new LinearImpl(50, 10));

    @Override
    public Tensor forward(Tensor images) {
        Tensor x = relu(max_pool2d(conv1.forward(images), 2));
        x = relu(max_pool2d(dropoutOfChannels(conv2.forward(x), 0.5), 2));
        x = dropout(relu(dense1.forward(x.flatten(1, -1))), 0.5);
        return log_softmax(dense2.forward(x), 1);
    }
}
