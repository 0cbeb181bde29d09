package com.example;

import static org.bytedeco.pytorch.global.torch.*;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.DistributedSampler;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.TorchOptimizer;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.*;

/** Learns which points of a square lie inside a circle. */
public class Trainer {
    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {                                              // 1: join the job
            var model = new SequentialImpl();
            model.push_back(new LinearImpl(2, 32));
            model.push_back(new TanhImpl());
            model.push_back(new LinearImpl(32, 1));
            var adam = new Adam(model.parameters(), new AdamOptions(0.05));
            var optimizer = DistributedOptimizer.wrap(                                   // 2: average the gradients
                    new TorchOptimizer(adam, model.named_parameters())).build();
            optimizer.broadcastParameters(0);                                            // 3: start alike
            var points = Dataset.of(points(4096, new Random(1)));
            var sampler = new DistributedSampler(points.size(), hvd.size(), hvd.rank()); // 4: this rank's share
            var loader = DataLoader.builder(points, sampler, Trainer::batch).batchSize(64).build();
            for (int epoch = 0; epoch < 20; epoch++) {
                for (Tensor batch : loader) {
                    try (PointerScope scope = new PointerScope()) {
                        optimizer.zeroGradients();
                        binary_cross_entropy_with_logits(model.forward(batch), inside(batch)).backward();
                        optimizer.step();
                    }
                }
            }
            if (hvd.rank() == 0) {                                                       // 5: one rank reports
                Tensor test = batch(points(1000, new Random(2)));
                Tensor right = model.forward(test).gt(new Scalar(0)).eq(inside(test));
                System.out.println("ranks=" + hvd.size() + " right=" + right.sum().item_long() + " of 1000");
            }
        }
    }

    static List<float[]> points(int count, Random random) {
        return Stream.generate(() -> new float[] {random.nextFloat(), random.nextFloat()}).limit(count).toList();
    }

    static Tensor batch(List<float[]> points) {
        FloatBuffer flat = FloatBuffer.allocate(2 * points.size());
        points.forEach(flat::put);
        return Tensor.create(flat.array(), points.size(), 2);
    }

    /** 1 for each point inside the circle, 0 for the others. */
    static Tensor inside(Tensor points) {
        return points.sub(new Scalar(0.5)).square().sum(new long[] {1}, true, new ScalarTypeOptional())
                .lt(new Scalar(0.16)).to(ScalarType.Float);
    }
}
