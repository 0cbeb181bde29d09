package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.mse_loss;
import static org.bytedeco.pytorch.global.torch.relu;

import io.hvd.tensor.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.ReLUImpl;
import org.bytedeco.pytorch.SequentialImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** A net with batch norms in a field, in a list, inside another module and in a sequence. */
public final class NormNet extends Module {
    private static final int SIDE = 6;
    private static final int OUTPUTS = 3;

    /** JavaCPP frees batch norms with their Java object, also those in a sequence. */
    private final List<Module> kept = new ArrayList<>();

    private final Conv2dImpl convolution = register_module("convolution", new Conv2dImpl(2, 4, new LongPointer(3, 3)));
    final BatchNorm2dImpl norm = register_module("norm", new BatchNorm2dImpl(new BatchNormOptions(4)));
    private final Block block = register_module("block", new Block());
    final SequentialImpl head = register_module("head", head());

    NormNet(long seed) {
        Models.fill(this, seed);
    }

    /** A list of norms, which is immutable. */
    private static final class Block extends Module {
        private final List<BatchNorm2dImpl> norms = List.of(
                register_module("first", new BatchNorm2dImpl(new BatchNormOptions(4))),
                register_module("second", new BatchNorm2dImpl(new BatchNormOptions(4))));

        Tensor forward(Tensor x) {
            Tensor y = x;
            for (BatchNorm2dImpl each : norms) {
                y = each.forward(y.mul(y));
            }
            return y;
        }
    }

    private SequentialImpl head() {
        SequentialImpl layers = new SequentialImpl();
        layers.push_back("dense", keep(new LinearImpl(4 * 4 * 4, 8)));
        layers.push_back("norm", keep(new BatchNorm1dImpl(new BatchNormOptions(8))));
        layers.push_back("relu", keep(new ReLUImpl()));
        layers.push_back("last", keep(new LinearImpl(8, OUTPUTS)));
        return layers;
    }

    private <M extends Module> M keep(M layer) {
        kept.add(layer);
        return layer;
    }

    Tensor forward(Tensor x) {
        Tensor y = relu(norm.forward(convolution.forward(x)));
        return head.forward(relu(block.forward(y)).flatten(1, -1));
    }

    /** The mean squared error over samples {@code from} to {@code to - 1}. */
    Tensor loss(int from, int to) {
        return mse_loss(forward(samples(from, to, 2, SIDE, SIDE)), samples(from, to, OUTPUTS));
    }

    /** Samples with a mean and a spread that differ between features, by their numbers alone. */
    public static Tensor samples(int from, int to, int... shape) {
        int width = 1;
        for (int size : shape) {
            width *= size;
        }
        double[] values = new double[(to - from) * width];
        for (int sample = from; sample < to; sample++) {
            Random random = new Random(17L * sample + shape.length);
            for (int i = 0; i < width; i++) {
                int feature = i / (width / shape[0]);
                values[(sample - from) * width + i] = feature + (1 + feature) * random.nextGaussian() / 2;
            }
        }
        long[] sizes = new long[shape.length + 1];
        sizes[0] = to - from;
        for (int i = 0; i < shape.length; i++) {
            sizes[i + 1] = shape[i];
        }
        return Tensor.create(values, sizes).to(ScalarType.Float);
    }

    /** Parameters and running statistics as floats; the counters are left out. */
    Map<String, io.hvd.tensor.Tensor> state() {
        var state = StateDict.of(this);
        state.values().removeIf(tensor -> tensor.dtype() != DType.FLOAT32);
        return state;
    }
}
