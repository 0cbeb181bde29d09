package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.examples.training.SeededModule;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.optimizer.torch.SyncBatchNorm;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The program of each rank of {@link SyncedResNetIT}: twenty steps of a ResNet-18 whose batches of 64 images are dealt to the ranks. It
 * computes in double precision, because in single precision this net forgets within ten steps where it came from: one rank
 * whose images are disturbed by 10<sup>-7</sup> ends as far from itself as four ranks do.
 */
final class SyncedResNet {
    private static final int STEPS = 20;
    private static final int BATCH = 64;
    private static final int SIDE = 32;
    private static final int WIDTH = 8;

    private SyncedResNet() {}

    /** @param args file for the weights and statistics that rank 0 ends with */
    public static void main(String[] args) throws IOException {
        try (HvdContext hvd = Hvd.init()) {
            train(hvd, Path.of(args[0]));
        }
    }

    static void train(HvdContext hvd, Path file) throws IOException {
        ImageClassifier net = SeededModule.seeded(3, () -> ResNet.named("resnet18", ResNet.Stem.CIFAR, 10, WIDTH));
        net.to(ScalarType.Double, false);
        if (hvd.size() > 1) {
            SyncBatchNorm.convert(net, hvd);
        }
        SGDOptions options = new SGDOptions(0.02);
        options.momentum().put(0.9);
        var optimizer = DistributedOptimizer.wrap(
                        new TorchOptimizer(new SGD(net.parameters(), options), net.named_parameters()))
                .context(hvd)
                .buffers(TorchTensors.buffers(net))
                .compareParametersEvery(5)
                .build();
        int share = BATCH / hvd.size();
        for (int step = 0; step < STEPS; step++) {
            try (PointerScope scope = new PointerScope()) {
                int first = step * BATCH + hvd.rank() * share;
                optimizer.zeroGradients();
                nll_loss(net.forward(images(first, share)), labels(first, share))
                        .backward();
                optimizer.step();
            }
        }
        if (hvd.rank() == 0) {
            new Checkpoint(StateDict.of(net), Map.of()).write(file);
        }
    }

    private static org.bytedeco.pytorch.Tensor images(int first, int count) {
        double[] values = new double[count * 3 * SIDE * SIDE];
        for (int i = 0; i < count; i++) {
            Random random = new Random(first + i);
            for (int j = 0; j < 3 * SIDE * SIDE; j++) {
                values[i * 3 * SIDE * SIDE + j] = random.nextFloat() + label(first + i) / 10f;
            }
        }
        return org.bytedeco.pytorch.Tensor.create(values, count, 3, SIDE, SIDE);
    }

    private static org.bytedeco.pytorch.Tensor labels(int first, int count) {
        long[] labels = new long[count];
        for (int i = 0; i < count; i++) {
            labels[i] = label(first + i);
        }
        return org.bytedeco.pytorch.Tensor.create(labels, count);
    }

    private static long label(int image) {
        return image % 10;
    }
}
