package io.hvd.train.checkpoint;

import io.hvd.ProcessSet;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.torch.FullyShard;
import io.hvd.optimizer.torch.FullyShardOptions;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.TensorVector;

/**
 * A LibTorch model of which each rank has a shard: blocks with batch norms as units, and a layer in none. All ranks train on the same batch,
 * which depends on the step alone; so does the state, to the bit where the average of as many equal numbers is exact, as of 1, 2 and 4.
 */
final class ShardedModelFit implements AutoCloseable {
    static final Function<TensorVector, org.bytedeco.pytorch.Optimizer> ADAMW =
            shards -> new AdamW(shards, new AdamWOptions(0.01));
    private static final int SAMPLES = 4;
    private static final String FLAT = "flat_param";
    private static final String RATE = ".learning_rate";

    static final class Block extends Module {
        final LinearImpl dense;
        final BatchNorm1dImpl norm;

        Block(int width) {
            dense = register_module("dense", new LinearImpl(width, width));
            norm = register_module("norm", new BatchNorm1dImpl(new BatchNormOptions(width)));
        }

        org.bytedeco.pytorch.Tensor forward(org.bytedeco.pytorch.Tensor x) {
            return x.add(norm.forward(dense.forward(x)).tanh());
        }
    }

    final List<Block> blocks = new ArrayList<>();
    final FullyShard shard;
    final Optimizer optimizer;
    private final int width;
    private final List<String> names;
    private final LinearImpl last;

    /** Two blocks. */
    static ShardedModelFit of(ProcessSet ranks, FullyShardOptions options) {
        return new ShardedModelFit(ranks, options, 5, List.of("block0", "block1"), ADAMW);
    }

    /** @param names of the blocks */
    ShardedModelFit(
            ProcessSet ranks,
            FullyShardOptions options,
            int width,
            List<String> names,
            Function<TensorVector, org.bytedeco.pytorch.Optimizer> make) {
        this.width = width;
        this.names = names;
        Module all = new Module("all");
        last = all.register_module("last", new LinearImpl(width, 3));
        shard = FullyShard.over(ranks, options);
        for (String name : names) {
            Block block = all.register_module(name.replace('.', '_'), new Block(width));
            blocks.add(block);
            fill(block);
            shard.unit(name, block);
        }
        fill(last);
        shard.root(all);
        optimizer = shard.optimizer(make);
    }

    private static void fill(Module module) {
        TorchTensors.parameters(module).forEach((name, tensor) -> {
            float[] values = new float[(int) tensor.elements()];
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) Math.sin(name.hashCode() % 100 + 1.3 * i) / 2;
            }
            tensor.copyFrom(Tensor.wrap(values, DType.FLOAT32, tensor.shape()));
        });
    }

    CheckpointsBuilder checkpoints(Path folder, ProcessSet ranks) {
        return Checkpoints.in(folder, ranks, optimizer).everyRankWrites().keep(20);
    }

    void step(long step) {
        try (PointerScope scope = new PointerScope()) {
            float[] values = new float[SAMPLES * width];
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) Math.sin(7 * step + 1.7 * i);
            }
            var x = org.bytedeco.pytorch.Tensor.create(values, SAMPLES, width);
            optimizer.zeroGradients();
            var y = shard.forward(() -> {
                var h = x;
                for (int i = 0; i < blocks.size(); i++) {
                    h = shard.forward(names.get(i), blocks.get(i)::forward, h);
                }
                return last.forward(h);
            });
            shard.backward(y.square().mean());
            optimizer.step();
        }
    }

    /** The state in a checkpoint as bits, with the shards of all ranks put together; what is not cut is the first rank's. */
    static Map<String, List<Long>> joined(Path set) throws IOException {
        Map<String, Tensor> saved = Checkpoint.read(set).tensors();
        int ranks = (int)
                saved.keySet().stream().filter(name -> name.endsWith(RATE)).count();
        Map<String, List<Long>> joined = new TreeMap<>();
        for (int rank = 0; rank < ranks; rank++) {
            String prefix = "optimizer.rank-" + rank + "-of-" + ranks + ".";
            for (String name : saved.keySet()) {
                boolean isCut = name.contains(FLAT) && !name.endsWith(".step");
                if (name.startsWith(prefix) && !name.endsWith(".layout") && (isCut || rank == 0)) {
                    joined.computeIfAbsent(name.substring(prefix.length()), first -> new ArrayList<>())
                            .addAll(bits(saved.get(name)));
                }
            }
        }
        joined.forEach((name, bits) -> {
            if (name.contains(FLAT) && !name.endsWith(".step")) {
                String layout = name.substring(0, name.indexOf(FLAT) + FLAT.length()) + ".layout";
                int elements = (int) numbers(saved.get("optimizer.rank-0-of-" + ranks + "." + layout))[2];
                bits.subList(elements, bits.size()).clear();
            }
        });
        return joined;
    }

    private static long[] numbers(Tensor tensor) {
        return (long[]) tensor.toArray();
    }

    private static List<Long> bits(Tensor tensor) {
        List<Long> bits = new ArrayList<>();
        if (tensor.dtype() == DType.FLOAT32) {
            for (float each : tensor.toFloatArray()) {
                bits.add((long) Float.floatToRawIntBits(each));
            }
        } else if (tensor.dtype() == DType.FLOAT64) {
            Arrays.stream((double[]) tensor.toArray())
                    .mapToObj(Double::doubleToRawLongBits)
                    .forEach(bits::add);
        } else {
            Arrays.stream(numbers(tensor)).forEach(bits::add);
        }
        return bits;
    }

    @Override
    public void close() {
        shard.close();
    }
}
