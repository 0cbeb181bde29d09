package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.randn;
import static org.bytedeco.pytorch.global.torch.relu;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Optimizer;
import io.hvd.tensor.Tensor;
import io.hvd.train.checkpoint.Checkpoints;
import io.hvd.train.checkpoint.Manifest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;

/**
 * Trains a stack of residual blocks for a few steps, whole or shared out, and prints the largest resident set of each rank's process as Linux
 * counts it, and the seconds of a step.
 */
final class ShardMemoryProgram {
    private static final int BATCH = 16;
    private static final int STEPS = 4;

    private final HvdContext hvd;
    private final Stack stack = new Stack();
    private final int blocks;
    private final int width;
    /** Null if there are no checkpoints. */
    private final Path checkpoints;

    private ShardMemoryProgram(HvdContext hvd, int blocks, int width, Path checkpoints) {
        this.hvd = hvd;
        this.blocks = blocks;
        this.width = width;
        this.checkpoints = checkpoints;
    }

    /** Its blocks are added one by one. */
    private static final class Stack extends Module {
        private final List<Block> blocks = new ArrayList<>();

        Block add(int width) {
            Block block = new Block(width);
            blocks.add(register_module("block" + blocks.size(), block));
            return block;
        }
    }

    private static final class Block extends Module {
        private final LinearImpl up;
        private final LinearImpl down;

        Block(int width) {
            up = register_module("up", new LinearImpl(width, 4L * width));
            down = register_module("down", new LinearImpl(4L * width, width));
        }

        org.bytedeco.pytorch.Tensor forward(org.bytedeco.pytorch.Tensor x) {
            return x.add(down.forward(relu(up.forward(x))));
        }
    }

    /**
     * @param args whole, zero1, zero2 or zero3; the number of blocks; their width: each has 8 times its square of parameters; of zero2 and zero3
     *     maybe a folder of checkpoints, from which the training goes on, and which gets another
     */
    public static void main(String[] args) throws IOException {
        try (HvdContext hvd = Hvd.init()) {
            TorchRuntime.load();
            TorchRuntime.shareCores();
            manual_seed(1);
            Path checkpoints = args.length > 3 ? Path.of(args[3]) : null;
            new ShardMemoryProgram(hvd, Integer.parseInt(args[1]), Integer.parseInt(args[2]), checkpoints).run(args[0]);
        }
    }

    private void run(String mode) throws IOException {
        long before = peakKilobytes();
        double seconds;
        switch (mode) {
            case "zero2" -> seconds = sharded(FullyShardOptions.zero2());
            case "zero3" -> seconds = sharded(FullyShardOptions.zero3());
            default -> seconds = whole(mode.equals("zero1"));
        }
        long[] mine = {before, peakKilobytes()};
        long[] all = (long[]) hvd.allgather("peaks", Tensor.of(mine)).toArray();
        if (hvd.rank() == 0) {
            long most = 0;
            for (int i = 1; i < all.length; i += 2) {
                most = Math.max(most, all[i]);
            }
            System.out.printf(
                    Locale.ROOT,
                    "SHARD mode=%s ranks=%d parameters=%d startMiB=%d peakMiB=%d secondsPerStep=%.2f%n",
                    mode,
                    hvd.size(),
                    8L * width * width * blocks + 5L * width * blocks,
                    all[0] / 1024,
                    most / 1024,
                    seconds);
        }
    }

    private double whole(boolean sharesState) {
        for (int i = 0; i < blocks; i++) {
            stack.add(width);
        }
        Optimizer inner = sharesState
                ? TorchOptimizer.sharded(
                        hvd, stack.named_parameters(), share -> new Adam(share, new AdamOptions(0.001)))
                : new TorchOptimizer(new Adam(stack.parameters(), new AdamOptions(0.001)), stack.named_parameters());
        DistributedOptimizer optimizer =
                DistributedOptimizer.wrap(inner).context(hvd).build();
        optimizer.broadcastParameters(0);
        return steps(optimizer, null, org.bytedeco.pytorch.Tensor::backward);
    }

    private double sharded(FullyShardOptions options) throws IOException {
        try (FullyShard shard = FullyShard.over(hvd, options)) {
            for (int i = 0; i < blocks; i++) {
                shard.unit("block" + i, stack.add(width));
            }
            var optimizer = shard.optimizer(shards -> new Adam(shards, new AdamOptions(0.001)));
            return checkpoints == null ? steps(optimizer, shard, shard::backward) : resumed(shard, optimizer);
        }
    }

    private double resumed(FullyShard shard, Optimizer optimizer) throws IOException {
        try (Checkpoints series = Checkpoints.in(checkpoints, hvd, optimizer)
                .everyRankWrites()
                .keep(1)
                .build()) {
            long before = series.resumeLatest().map(Manifest::step).orElse(0L);
            double seconds = steps(optimizer, shard, shard::backward);
            series.saveAndWait(before + STEPS, 0);
            if (hvd.rank() == 0) {
                System.out.println("RESUMED step=" + before);
            }
            return seconds;
        }
    }

    private double steps(Optimizer optimizer, FullyShard shard, Consumer<org.bytedeco.pytorch.Tensor> backward) {
        long begun = 0;
        for (int step = 0; step < STEPS; step++) {
            if (step == 1) {
                begun = System.nanoTime(); // the first one makes buffers
            }
            try (PointerScope scope = new PointerScope()) {
                optimizer.zeroGradients();
                var h = randn(new long[] {BATCH, width});
                for (int i = 0; i < blocks; i++) {
                    Block block = stack.blocks.get(i);
                    h = shard == null ? block.forward(h) : shard.forward("block" + i, block::forward, h);
                }
                backward.accept(h.square().mean());
                optimizer.step();
            }
        }
        return (System.nanoTime() - begun) / 1e9 / (STEPS - 1);
    }

    private static long peakKilobytes() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmHWM:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                .findFirst()
                .orElseThrow();
    }
}
