package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.log_softmax;
import static org.bytedeco.pytorch.global.torch.max_pool2d;
import static org.bytedeco.pytorch.global.torch.relu;

import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** Two convolutions and two dense layers for 12x12 images; nothing in it is random after its birth. */
final class SmallConvNet extends Module {
    static final int SIDE = 12;
    static final int CLASSES = 10;

    private final Conv2dImpl conv1 = register_module("conv1", new Conv2dImpl(1, 6, new LongPointer(3, 3)));
    private final Conv2dImpl conv2 = register_module("conv2", new Conv2dImpl(6, 12, new LongPointer(3, 3)));
    private final LinearImpl dense1 = register_module("dense1", new LinearImpl(12 * 3 * 3, 32));
    private final LinearImpl dense2 = register_module("dense2", new LinearImpl(32, CLASSES));

    /** From (batch, 1, 12, 12) to log-probabilities, (batch, 10). */
    Tensor forward(Tensor images) {
        Tensor x = max_pool2d(relu(conv1.forward(images)), 2);
        x = relu(conv2.forward(x));
        x = relu(dense1.forward(x.flatten(1, -1)));
        return log_softmax(dense2.forward(x), 1);
    }
}
