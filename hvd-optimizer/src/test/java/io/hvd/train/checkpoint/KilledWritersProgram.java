package io.hvd.train.checkpoint;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.AdamW;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.zip.CRC32C;

/**
 * Ranks that are threads train for ever, and each writes its share after every step; somebody kills the process. The arguments are the
 * folder, the number of ranks, and {@code shared} for an optimizer whose state is shared out. It prints the step and a sum over weights
 * and moments where it begins and after each step, which depend on the step alone.
 */
final class KilledWritersProgram {
    private static final int ARRAYS = 5;
    private static final int LENGTH = 60_000;

    private final HvdContext hvd;
    private final boolean shares;
    private final SortedMap<String, Tensor> values = new TreeMap<>();
    private final List<float[]> gradients = new ArrayList<>();
    private final DistributedOptimizer optimizer;

    private KilledWritersProgram(HvdContext hvd, boolean shares) {
        this.hvd = hvd;
        this.shares = shares;
        ArrayParameters parameters = new ArrayParameters();
        for (int i = 0; i < ARRAYS; i++) {
            float[] value = new float[LENGTH / (i + 1)];
            gradients.add(new float[value.length]);
            parameters.add("layer" + i, value, gradients.get(i));
            values.put("layer" + i, Tensor.of(value));
        }
        Optimizer inner = shares
                ? ShardedOptimizer.ofArrays(hvd, parameters, share -> new AdamW(share, 0.1))
                : new AdamW(parameters, 0.1);
        optimizer =
                DistributedOptimizer.wrap(inner).context(hvd).op(ReduceOp.SUM).build();
    }

    public static void main(String[] args) {
        Hvd.spawn(Integer.parseInt(args[1]), hvd -> {
            new KilledWritersProgram(hvd, args.length > 2).train(Path.of(args[0]));
            return null;
        });
    }

    private void train(Path folder) throws Exception {
        try (Checkpoints checkpoints =
                Checkpoints.in(folder, hvd, optimizer).everyRankWrites().keep(2).build()) {
            long step = checkpoints.resumeLatest().map(Manifest::step).orElse(0L);
            optimizer.broadcastParameters(0);
            say("BEGIN", step);
            while (true) {
                step(++step);
                checkpoints.save(step, 0);
                say("STEP", step);
            }
        }
    }

    private void step(long step) {
        for (float[] gradient : gradients) {
            for (int j = 0; j < gradient.length; j++) {
                gradient[j] = hvd.rank() == 0 ? Math.floorMod(31 * j + 3 * step, 17) - 8 : 0;
            }
        }
        optimizer.step();
    }

    /** The sums of all arrays, of which each rank may have a share. */
    private void say(String word, long step) {
        NamedState state = optimizer.namedState();
        SortedMap<String, Long> sums = new TreeMap<>();
        values.forEach((name, tensor) -> sums.put(name, sum(tensor)));
        state.tensors().forEach((name, tensor) -> sums.put(name, sum(tensor)));
        long sum = shares || hvd.rank() == 0
                ? sums.entrySet().stream()
                        .filter(one -> hvd.rank() == 0 || !values.containsKey(one.getKey()))
                        .mapToLong(one -> one.hashCode() * 31L + one.getValue())
                        .sum()
                : 0;
        long all = ((long[]) hvd.allreduce("sum", Tensor.of(new long[] {sum}), AllreduceOptions.sum())
                        .toArray())
                [0];
        if (hvd.rank() == 0) {
            System.out.print(word + " " + step + " " + Long.toHexString(all) + "\n");
        }
    }

    private static long sum(Tensor tensor) {
        CRC32C sum = new CRC32C();
        for (float each : tensor.toFloatArray()) {
            int bits = Float.floatToRawIntBits(each);
            sum.update(bits);
            sum.update(bits >> 8);
            sum.update(bits >> 16);
            sum.update(bits >> 24);
        }
        return sum.getValue();
    }
}
