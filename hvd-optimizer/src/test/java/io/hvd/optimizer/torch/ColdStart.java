package io.hvd.optimizer.torch;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.DistributedOptimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;

/** A program that touches LibTorch for the first time in its life; started by {@link TorchColdCacheIT}. */
public final class ColdStart {
    private ColdStart() {}

    public static void main(String[] args) {
        switch (args[0]) {
            case "init" -> {
                try (HvdContext hvd = Hvd.init()) {
                    train(hvd);
                }
            }
            case "spawn" -> Hvd.spawn(2, ColdStart::train);
            case "prepare" -> {
                TorchRuntime.prepare();
                TorchRuntime.prepare();
                Hvd.spawn(1, ColdStart::train);
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static Void train(HvdContext hvd) {
        Models.Net net = new Models.Net(7);
        var optimizer = DistributedOptimizer.wrap(
                        new TorchOptimizer(new SGD(net.parameters(), new SGDOptions(0.1)), net.named_parameters()))
                .build();
        float before = net.loss(0, 8).item_float();
        net.loss(0, 8).backward();
        optimizer.step();
        if (net.loss(0, 8).item_float() < before) {
            System.out.println("trained on rank " + hvd.rank());
        }
        return null;
    }
}
