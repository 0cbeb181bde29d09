package com.example;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.TorchOptimizer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;

/** The tutorial's trainer on as many ranks as are started. */
public class FourRanks {
    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {                                              // 1: join the job
            var model = Circle.model(32);
            var adam = new Adam(model.parameters(), new AdamOptions(0.05));
            var optimizer = DistributedOptimizer.wrap(                                   // 2: average the gradients
                    new TorchOptimizer(adam, model.named_parameters())).build();
            optimizer.broadcastParameters(0);                                            // 3: start alike
            var sampler = new DistributedSampler(Circle.POINTS, hvd.size(), hvd.rank()); // 4: this rank's share
            for (int epoch = 0; epoch < 10; epoch++) {
                int[] order = sampler.beginEpoch();
                for (int from = 0; from < order.length; from += Circle.BATCH) {
                    try (PointerScope scope = new PointerScope()) {
                        optimizer.zeroGradients();
                        Circle.loss(model, order, from).backward();
                        optimizer.step();
                    }
                }
                if (hvd.rank() == 0) {                                                   // 5: one rank reports
                    System.out.println("epoch " + epoch + ": " + Circle.right(model) + " of 1000 right");
                }
            }
        }
    }
}
