package io.hvd.train.checkpoint;

import static org.bytedeco.pytorch.global.torch.mse_loss;
import static org.bytedeco.pytorch.global.torch.tanh;

import io.hvd.HvdContext;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.optimizer.torch.Models;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.optimizer.torch.state.NumberedArchive;
import io.hvd.optimizer.torch.state.TorchArchive;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.InputArchive;

/** Two dense layers of LibTorch. */
final class TorchFitModel implements ShardedFit.Model {
    private static final int SAMPLES = 4;
    private static final int INPUTS = 5;
    private static final int OUTPUTS = 3;
    private static final List<String> NAMES = List.of("dense1.bias", "dense1.weight", "dense2.bias", "dense2.weight");

    private final Models.Net net;

    TorchFitModel(int seed) {
        net = new Models.Net(seed);
    }

    @Override
    public void backward(int rank, int step, double factor) {
        try (PointerScope scope = new PointerScope()) {
            var x = waves(INPUTS, 31 * step + rank);
            var y = waves(OUTPUTS, 17 * step - rank);
            var out = net.dense2.forward(tanh(net.dense1.forward(x)));
            TorchOptimizer.backward(mse_loss(out, y), factor);
        }
    }

    private static org.bytedeco.pytorch.Tensor waves(int width, int from) {
        float[] values = new float[SAMPLES * width];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) Math.sin(from + 1.7 * i);
        }
        return org.bytedeco.pytorch.Tensor.create(values, SAMPLES, width);
    }

    @Override
    public Optimizer unsharded() {
        var adam = new Adam(net.parameters(), new AdamOptions(0.01));
        return new TorchOptimizer(adam, net.named_parameters());
    }

    @Override
    public ShardedOptimizer sharded(HvdContext hvd) {
        return TorchOptimizer.sharded(hvd, net.named_parameters(), share -> new Adam(share, new AdamOptions(0.01)));
    }

    @Override
    public SortedMap<String, Tensor> values() {
        return StateDict.of(net);
    }

    @Override
    public void load(SortedMap<String, Tensor> values) {
        StateDict.load(net, values);
    }

    /** Reads the archive, whose place the Javadoc of {@code TorchState} draws; the numbers in a sharded one are in the order of names. */
    @Override
    public SortedMap<String, String> moments(byte[] state) {
        ByteBuffer bytes = ByteBuffer.wrap(state).position(2 * Integer.BYTES);
        byte[] words = new byte[bytes.getInt()];
        bytes.get(words).get();
        List<String> lines = new String(words, StandardCharsets.UTF_8).lines().toList();
        SortedMap<String, String> all = new TreeMap<>();
        byte[] archive = Arrays.copyOfRange(state, bytes.position(), state.length);
        TorchArchive.open(archive, opened -> {
            InputArchive states = NumberedArchive.child(opened, "state");
            for (int i = 1; i <= NAMES.size(); i++) {
                if (NumberedArchive.has(states, String.valueOf(i))) {
                    String name = lines.get(i).split(" ")[0];
                    all.put(name, words(NumberedArchive.child(states, String.valueOf(i))));
                }
            }
        });
        return all;
    }

    private static String words(InputArchive buffers) {
        return "step " + NumberedArchive.value(buffers, "step").toInt() + bits(buffers, "exp_avg")
                + bits(buffers, "exp_avg_sq");
    }

    private static String bits(InputArchive buffers, String name) {
        float[] floats = Models.floats(NumberedArchive.value(buffers, name).toTensor());
        StringBuilder bits = new StringBuilder(" " + name);
        for (float each : floats) {
            bits.append(' ').append(Integer.toHexString(Float.floatToRawIntBits(each)));
        }
        return bits.toString();
    }
}
