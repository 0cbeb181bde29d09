package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.manual_seed;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;

/** What each rank of {@link EquivalenceIT} runs: every kind of optimizer; rank 0 writes the weights it ends with. */
final class TwentySteps {
    enum Kind {
        SGD_WITH_MOMENTUM,
        ADAM;

        Optimizer over(SmallConvNet net) {
            if (this == ADAM) {
                return new Adam(net.parameters(), new AdamOptions(1e-3));
            }
            SGDOptions options = new SGDOptions(0.05);
            options.momentum().put(0.9);
            return new SGD(net.parameters(), options);
        }

        Path weightsIn(Path folder) {
            return folder.resolve(name());
        }

        Path firstWeightsIn(Path folder) {
            return folder.resolve(name() + "-before");
        }
    }

    private TwentySteps() {}

    /** @param args the folder for the weights */
    public static void main(String[] args) throws Exception {
        try (HvdContext hvd = Hvd.init()) {
            for (Kind kind : Kind.values()) {
                train(hvd, kind, Path.of(args[0]));
            }
        }
    }

    private static void train(HvdContext hvd, Kind kind, Path folder) throws IOException {
        RandomImages images = new RandomImages(hvd.size(), hvd.rank());
        manual_seed(1 + hvd.rank()); // other weights on every rank, until rank 0's are broadcast
        SmallConvNet net = new SmallConvNet();
        var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(kind.over(net), net.named_parameters()))
                .build();
        optimizer.broadcastParameters(0);
        optimizer.broadcastOptimizerState(0);
        write(hvd, net, kind.firstWeightsIn(folder));
        for (int step = 0; step < RandomImages.STEPS; step++) {
            try (PointerScope scope = new PointerScope()) {
                optimizer.zeroGradients();
                images.loss(net, step).backward();
                optimizer.step();
            }
        }
        write(hvd, net, kind.weightsIn(folder));
    }

    private static void write(HvdContext hvd, SmallConvNet net, Path file) throws IOException {
        TreeMap<String, Tensor> weights = TorchTensors.parameters(net);
        requireSameOnAllRanks(hvd, weights);
        if (hvd.rank() == 0) {
            new Checkpoint(weights, Map.of()).write(file);
        }
    }

    private static void requireSameOnAllRanks(HvdContext hvd, Map<String, Tensor> weights) {
        weights.forEach((name, mine) -> {
            Tensor least = hvd.allreduce("least." + name, mine, AllreduceOptions.of(ReduceOp.MIN));
            Tensor most = hvd.allreduce("most." + name, mine, AllreduceOptions.of(ReduceOp.MAX));
            if (!Arrays.equals((float[]) least.toArray(), (float[]) most.toArray())) {
                throw new AssertionError("the ranks have different weights in " + name);
            }
        });
    }
}
