package com.example;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.optimizer.torch.TorchTensors;
import java.io.IOException;
import java.nio.file.Path;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;

/** The tutorial's trainer with a checkpoint after each epoch. Its arguments are a file and the number of epochs. */
public class Resumable {
    public static void main(String[] args) throws IOException {
        Path file = Path.of(args[0]);
        int epochs = Integer.parseInt(args[1]);
        try (HvdContext hvd = Hvd.init()) {
            var model = Circle.model(32);
            var adam = new Adam(model.parameters(), new AdamOptions(0.05));
            var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(adam, model.named_parameters())).build();
            var state = TorchTensors.state(model);
            int done = Recipes.resume(hvd, file, state, optimizer); // this broadcasts too
            var sampler = new DistributedSampler(Circle.POINTS, hvd.size(), hvd.rank());
            sampler.setEpoch(done);
            for (int epoch = done; epoch < epochs; epoch++) {
                int[] order = sampler.beginEpoch();
                for (int from = 0; from < order.length; from += Circle.BATCH) {
                    try (PointerScope scope = new PointerScope()) {
                        optimizer.zeroGradients();
                        Circle.loss(model, order, from).backward();
                        optimizer.step();
                    }
                }
                Recipes.save(hvd, file, state, optimizer, epoch + 1);
                if (hvd.rank() == 0) {
                    System.out.println("epoch " + epoch + ": " + Circle.right(model) + " of 1000 right");
                }
            }
        }
    }
}
