package com.example;

import io.hvd.Compression;
import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.EvalSampler;
import io.hvd.optimizer.BufferSync;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.optimizer.reduce.PowerSgd;
import io.hvd.optimizer.RangeControl;
import io.hvd.optimizer.torch.SyncBatchNorm;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import io.hvd.train.UnevenSteps;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Module;

/** Pieces of a trainer to copy. */
final class Recipes {
    private Recipes() {}

    static DistributedOptimizer compressAndAccumulate(Optimizer inner) {
        return DistributedOptimizer.wrap(inner)
                .compression(Compression.BF16)       // or FP16: gradients travel in two bytes, weights stay float32
                .backwardPassesPerStep(4)            // step() after four backward passes, one exchange for all four
                .localReduction(LocalReduction.MEAN) // the mean of these four; the default is their SUM, as in Horovod
                .build();
    }

    /** Gradients in two bytes, but for those of norms and biases; the first and the last half of the parameters travel together. */
    static DistributedOptimizer compressSome(Optimizer inner) {
        return DistributedOptimizer.wrap(inner)
                .compression(Compression.FP16)
                .allreduceAlwaysFp32(parameter -> parameter.value().shape().rank() < 2) // norms and biases
                .numGroups(2) // or groups(List.of(List.of("a.weight", "a.bias"), ...))
                .build();
    }

    /** Gradients as products of two thin matrices. */
    static DistributedOptimizer compressMore(Optimizer inner) {
        return DistributedOptimizer.wrap(inner)
                .reducer(new PowerSgd(2)) // or new TopK(0.01), new Threshold(1e-3), new Int8()
                .build();
    }

    /** A reducer of one's own, which does what an allreduce does. */
    static DistributedOptimizer reduce(Optimizer inner) {
        GradientReducer plain = bucket -> bucket.average(bucket.byName()).thenApply(done -> bucket);
        return DistributedOptimizer.wrap(inner).reducer(plain).build();
    }

    static DistributedOptimizer keepInRange(Optimizer inner) {
        return DistributedOptimizer.wrap(inner)
                .compression(Compression.FP16)
                .rangeControl(RangeControl.every(500)) // powers of two bring each gradient into float16's range
                .build();
    }

    static DistributedOptimizer refuseNaN(Optimizer inner) {
        return DistributedOptimizer.wrap(inner)
                .refuseNonFinite(true) // a step by a gradient that is infinite or NaN throws on all ranks
                .build();
    }

    /** Batch norms over the batches of all ranks, and each rank with the optimizer state of its share of the parameters. */
    static DistributedOptimizer synchronise(HvdContext hvd, Module model) {
        SyncBatchNorm.convert(model, hvd);
        var adam = TorchOptimizer.sharded(
                hvd, model.named_parameters(), share -> new Adam(share, new AdamOptions(0.001)));
        return DistributedOptimizer.wrap(adam).buffers(TorchTensors.buffers(model)).build();
    }

    /** Every sample counts once, however many each rank has. */
    static DistributedOptimizer trainOnUnevenData(
            HvdContext hvd, Dataset<float[]> samples, Optimizer inner, Consumer<List<float[]>> backward) {
        var optimizer = DistributedOptimizer.wrap(inner).weightByBatchSize().build();
        var sampler = new EvalSampler(samples.size(), hvd.size(), hvd.rank()); // each sample once
        try (var loader = DataLoader.<float[], List<float[]>>builder(samples, sampler, List::copyOf)
                .batchSize(64)
                .evenSteps(UnevenSteps.JOIN.among(hvd)) // or REFUSE, PAD, DROP
                .build()) {
            for (List<float[]> batch : loader) {
                optimizer.zeroGradients();
                optimizer.batchSize(batch.size());
                backward.accept(batch); // its loss is the mean over the batch
                optimizer.step();
            }
        }
        optimizer.join(JoinDivisor.ACTIVE);
        return optimizer;
    }

    /** Plain batch norms, whose statistics all ranks take from rank 0 after every tenth step. */
    static DistributedOptimizer keepBuffersInStep(Optimizer inner, Module model) {
        return DistributedOptimizer.wrap(inner)
                .buffers(TorchTensors.buffers(model))
                .broadcastBuffers(BufferSync.everySteps(10)) // or meanEverySteps(10), beforeCheckpoint()
                .build();
    }

    /** After every step all ranks have rank 0's tensors, such as averages that it keeps of the weights. */
    static void sendInEveryStep(HvdContext hvd, Map<String, Tensor> kept, int steps, IntConsumer step) {
        try (var sent = hvd.prepareBroadcast(List.copyOf(kept.keySet()), List.copyOf(kept.values()), 0)) {
            for (int i = 0; i < steps; i++) {
                step.accept(i);
                sent.start();
                // whatever does not touch these tensors
                sent.await();
            }
        }
    }

    static void save(HvdContext hvd, Path file, Map<String, Tensor> state, Optimizer optimizer, int epochs)
            throws IOException {
        if (hvd.rank() == 0) {
            var tensors = new TreeMap<>(state); // for a LibTorch module: TorchTensors.state(model)
            new Checkpoint(tensors, Map.of("epochs", "" + epochs))
                    .withState("optimizer", optimizer.wholeState())
                    .write(file);
        }
    }

    /** Rank 0 reads the file if it is there, the others get what rank 0 has; returns the epochs that are done. */
    static int resume(HvdContext hvd, Path file, Map<String, Tensor> state, DistributedOptimizer optimizer)
            throws IOException {
        String epochs = "0";
        if (hvd.rank() == 0 && Files.exists(file)) {
            Checkpoint saved = Checkpoint.read(file);
            state.forEach((name, tensor) -> tensor.copyFrom(saved.tensors().get(name)));
            optimizer.loadNamedState(saved.state("optimizer"));
            epochs = saved.metadata().get("epochs");
        }
        hvd.broadcastParameters(state, 0);
        optimizer.broadcastOptimizerState(0);
        return Integer.parseInt(hvd.broadcastObject("epochs", epochs, ObjectCodec.utf8(), 0));
    }
}
