package com.example;

import static org.bytedeco.pytorch.global.torch.tanh;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.optimizer.torch.FullyShard;
import io.hvd.optimizer.torch.FullyShardOptions;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/** The tutorial's trainer with more layers, of which no rank keeps the whole. */
public class ShardedRanks {
    private static final int LAYERS = 3;
    private static final int WIDTH = 32;

    /** Residual layers between two that change the width. */
    private static final class Layers extends Module {
        private final LinearImpl first = register_module("first", new LinearImpl(2, WIDTH));
        private final LinearImpl last = register_module("last", new LinearImpl(WIDTH, 1));
        private final List<LinearImpl> hidden = new ArrayList<>();

        LinearImpl add(int width) {
            hidden.add(register_module("hidden" + hidden.size(), new LinearImpl(width, width)));
            return hidden.get(hidden.size() - 1);
        }

        Tensor forward(FullyShard shard, Tensor points) {
            return shard.forward(() -> {
                Tensor x = tanh(first.forward(points));
                for (int i = 0; i < hidden.size(); i++) {
                    LinearImpl layer = hidden.get(i);
                    x = shard.forward("hidden" + i, in -> in.add(tanh(layer.forward(in))), x);
                }
                return last.forward(x);
            });
        }
    }

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            long right = train(hvd, 10);
            if (hvd.rank() == 0) {
                System.out.println(right + " of " + Circle.POINTS + " right");
            }
        }
    }

    /** @return how many of the training's points are on the side that the model says */
    static long train(HvdContext hvd, int epochs) {
        var model = new Layers();
        try (FullyShard shard = FullyShard.over(hvd, FullyShardOptions.zero3())) {
            for (int i = 0; i < LAYERS; i++) {
                shard.unit("hidden" + i, model.add(WIDTH));
            }
            shard.root(model); // what is in no unit
            var optimizer = shard.optimizer(shards -> new AdamW(shards, new AdamWOptions(0.01)));
            var sampler = new DistributedSampler(Circle.POINTS, hvd.size(), hvd.rank());
            for (int epoch = 0; epoch < epochs; epoch++) {
                int[] order = sampler.beginEpoch();
                for (int from = 0; from < order.length; from += Circle.BATCH) {
                    try (PointerScope scope = new PointerScope()) {
                        optimizer.zeroGradients();
                        Tensor points = Circle.points(order, from);
                        shard.backward(Circle.loss(model.forward(shard, points), points));
                        shard.clipGradNorm(1);
                        optimizer.step();
                    }
                }
            }
            try (PointerScope scope = new PointerScope();
                    NoGradGuard guard = new NoGradGuard()) {
                return Circle.right(points -> model.forward(shard, points), Circle.shuffled(0));
            }
        }
    }
}
