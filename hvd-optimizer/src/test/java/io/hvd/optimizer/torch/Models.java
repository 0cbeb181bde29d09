package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.mse_loss;
import static org.bytedeco.pytorch.global.torch.tanh;

import io.hvd.tensor.DType;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;

/**
 * Small models, and data that depend on sample numbers only. LibTorch's own seed belongs to the whole
 * process, so with ranks as threads the weights are filled from a generator per model.
 */
public final class Models {
    static final int INPUTS = 5;
    static final int OUTPUTS = 3;

    private Models() {}

    /** Two dense layers. */
    public static final class Net extends Module {
        public final LinearImpl dense1 = register_module("dense1", new LinearImpl(INPUTS, 8));
        public final LinearImpl dense2 = register_module("dense2", new LinearImpl(8, OUTPUTS));

        public Net(long seed) {
            Models.fill(this, seed);
        }

        Tensor forward(Tensor x) {
            return dense2.forward(tanh(dense1.forward(x)));
        }

        /** The mean squared error over samples {@code from} to {@code to - 1}. */
        public Tensor loss(int from, int to) {
            return mse_loss(forward(inputs(from, to)), targets(from, to));
        }
    }

    /** Overwrites all parameters; the same seed gives the same values. */
    static void fill(Module module, long seed) {
        Random random = new Random(seed);
        for (Map.Entry<String, io.hvd.tensor.Tensor> entry :
                TorchTensors.parameters(module).entrySet()) {
            io.hvd.tensor.Tensor tensor = entry.getValue();
            float[] values = floats(random, Math.toIntExact(tensor.elements()));
            if (tensor.dtype() == DType.FLOAT32) {
                tensor.copyFrom(io.hvd.tensor.Tensor.wrap(values, DType.FLOAT32, tensor.shape()));
            }
        }
    }

    static Tensor inputs(int from, int to) {
        return samples(from, to, INPUTS, 1);
    }

    static Tensor targets(int from, int to) {
        return samples(from, to, OUTPUTS, 2);
    }

    public static Tensor tensor(float... values) {
        return Tensor.create(values, values.length);
    }

    /** A vector that LibTorch trains. */
    static Tensor parameter(Module module, String name, float... values) {
        return new Tensor(module.register_parameter(name, tensor(values), true));
    }

    public static float[] floats(Tensor tensor) {
        return TorchTensors.alias("read by a test", tensor).toFloatArray();
    }

    /** All parameters of a module, one after the other in the order of their names. */
    static float[] weights(Module module) {
        return weights(TorchTensors.parameters(module));
    }

    static float[] weights(Map<String, io.hvd.tensor.Tensor> sorted) {
        float[] all = new float[0];
        for (io.hvd.tensor.Tensor tensor : sorted.values()) {
            float[] part = tensor.toFloatArray();
            int at = all.length;
            all = Arrays.copyOf(all, at + part.length);
            System.arraycopy(part, 0, all, at, part.length);
        }
        return all;
    }

    static SGDOptions sgd(double rate) {
        SGDOptions options = new SGDOptions(rate);
        options.momentum().put(0.9);
        options.weight_decay().put(0.01);
        return options;
    }

    static AdamOptions adam(double rate) {
        return new AdamOptions(rate);
    }

    private static Tensor samples(int from, int to, int width, int kind) {
        float[] values = new float[(to - from) * width];
        for (int sample = from; sample < to; sample++) {
            float[] one = floats(new Random(31L * sample + kind), width);
            System.arraycopy(one, 0, values, (sample - from) * width, width);
        }
        return Tensor.create(values, to - from, width);
    }

    private static float[] floats(Random random, int count) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextGaussian() / 2;
        }
        return values;
    }
}
