package io.hvd.train.checkpoint;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.torch.FullyShardOptions;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * As {@link KilledWritersProgram}, of a model of which each rank has a shard. The arguments are the folder and the number of ranks; with {@code
 * shared} its units stay gathered until their backward.
 */
final class KilledShardsProgram {
    private static final int WIDTH = 160;

    private KilledShardsProgram() {}

    public static void main(String[] args) {
        TorchRuntime.prepare();
        FullyShardOptions options = args.length > 2 ? FullyShardOptions.zero2() : FullyShardOptions.zero3();
        Hvd.spawn(Integer.parseInt(args[1]), hvd -> {
            List<String> blocks = List.of("block0", "block1", "block2");
            try (ShardedModelFit fit = new ShardedModelFit(hvd, options, WIDTH, blocks, ShardedModelFit.ADAMW)) {
                train(hvd, fit, Path.of(args[0]));
            }
            return null;
        });
    }

    private static void train(HvdContext hvd, ShardedModelFit fit, Path folder) throws Exception {
        try (Checkpoints checkpoints = fit.checkpoints(folder, hvd).keep(2).build()) {
            long step = checkpoints.resumeLatest().map(Manifest::step).orElse(0L);
            say(hvd, fit, "BEGIN", step);
            while (true) {
                fit.step(++step);
                checkpoints.save(step, 0);
                say(hvd, fit, "STEP", step);
            }
        }
    }

    /** A sum over parameters and moments in which each element counts by its place in the flat parameter, and padding does not. */
    private static void say(HvdContext hvd, ShardedModelFit fit, String word, long step) {
        long sum = 0;
        for (Map.Entry<String, Tensor> each :
                fit.optimizer.namedState().tensors().entrySet()) {
            String name = each.getKey().replaceFirst("rank-[0-9]+-of-[0-9]+.", "");
            if (name.contains("flat_param") && each.getValue().dtype() == DType.FLOAT32) {
                float[] shard = each.getValue().toFloatArray();
                long first = (long) hvd.rank() * shard.length;
                for (int i = 0; i < shard.length; i++) {
                    sum += Float.floatToRawIntBits(shard[i]) * (first + i + 1) * name.hashCode();
                }
            }
        }
        long all = ((long[]) hvd.allreduce("sum", Tensor.of(new long[] {sum}), AllreduceOptions.sum())
                        .toArray())
                [0];
        if (hvd.rank() == 0) {
            System.out.print(word + " " + step + " " + Long.toHexString(all) + "\n");
        }
    }
}
