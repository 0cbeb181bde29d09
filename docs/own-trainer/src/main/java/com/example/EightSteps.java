package com.example;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.data.EvalSampler;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.tensor.Tensor;
import io.hvd.train.MeanMetric;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.Locale;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;

/** Distributed training in the eight steps in which MONAI's guide has it, with an evaluation that is exact over all ranks. */
public class EightSteps {
    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {                                              // 1: init_process_group
            PrintStream out = rankZeroOut(hvd);
            out.println("rank 0 of " + hvd.size() + " on " + hvd.device());              // 2: set_device: done by init
            var sampler = new DistributedSampler(Circle.POINTS, hvd.size(), hvd.rank()); // 3: DistributedSampler
            var model = Circle.model(32);                                                // 5: the model, on its device
            var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(                // 6: DistributedDataParallel
                    new Adam(model.parameters(), new AdamOptions(0.05)), model.named_parameters())).build();
            optimizer.broadcastParameters(0);
            for (int epoch = 0; epoch < 10; epoch++) {
                sampler.setEpoch(epoch);                                                 // 4: set_epoch
                int[] order = sampler.beginEpoch();
                for (int from = 0; from < order.length; from += Circle.BATCH) {
                    try (PointerScope scope = new PointerScope()) {                      // 7: train as on one GPU
                        optimizer.zeroGradients();
                        Circle.loss(model, order, from).backward();
                        optimizer.step();
                    }
                }
            }
            var everyOne = new EvalSampler(Circle.POINTS, hvd.size(), hvd.rank());
            long right = Circle.right(model, everyOne.indices());
            out.printf(Locale.ROOT, "accuracy %.3f%n", accuracyOfAll(hvd, right, everyOne.length()));
        }
    }

    /** The others print into the void, as MONAI's scripts do by redirecting sys.stdout. */
    static PrintStream rankZeroOut(HvdContext hvd) {
        return hvd.rank() == 0 ? System.out : new PrintStream(OutputStream.nullOutputStream());
    }

    /** Gives all ranks the exact accuracy: each sample counts once, however many each rank has. */
    static double accuracyOfAll(HvdContext hvd, long right, long samples) {
        var accuracy = new MeanMetric("accuracy");
        accuracy.add(right, samples);
        return accuracy.reduce(hvd).mean();
    }

    /** The mean that reduce_tensor of such scripts is meant to give. */
    static float reduceTensor(HvdContext hvd, float loss) {
        Tensor value = Tensor.of(loss);
        hvd.barrier();                                                     // allowed, and not needed
        hvd.allreduceInPlace("loss", value, AllreduceOptions.average());   // or: value = hvd.allreduce("loss", value)
        return value.item();
    }

    /** One rank of each host makes the files, and no rank looks for them before they are there. */
    static void onOneRankOfEachHost(HvdContext hvd, Runnable makeFiles) {
        if (hvd.localRank() == 0) {
            makeFiles.run();
        }
        hvd.barrier();
    }
}
