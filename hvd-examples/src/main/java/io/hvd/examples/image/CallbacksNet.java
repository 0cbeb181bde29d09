package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.log_softmax;
import static org.bytedeco.pytorch.global.torch.max_pool2d;
import static org.bytedeco.pytorch.global.torch.relu;

import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;

/** The net of Horovod's Keras example: 1,199,882 parameters for 28x28 images. */
final class CallbacksNet extends ImageClassifier {
    private static final int FLAT = 64 * 12 * 12;

    private final Conv2dImpl conv1 = register_module("conv1", new Conv2dImpl(1, 32, new LongPointer(3, 3)));
    private final Conv2dImpl conv2 = register_module("conv2", new Conv2dImpl(32, 64, new LongPointer(3, 3)));
    private final LinearImpl dense1 = register_module("dense1", new LinearImpl(FLAT, 128));
    private final LinearImpl dense2 = register_module("dense2", new LinearImpl(128, 10));

    @Override
    public Tensor forward(Tensor images) {
        Tensor x = relu(conv2.forward(relu(conv1.forward(images))));
        x = dropout(max_pool2d(x, 2), 0.25).flatten(1, -1);
        x = dropout(relu(dense1.forward(x)), 0.5);
        return log_softmax(dense2.forward(x), 1);
    }
}
