package io.hvd.optimizer.torch;

import static io.hvd.optimizer.Closeness.assertClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.bytedeco.pytorch.global.torch.cat;
import static org.bytedeco.pytorch.global.torch.mse_loss;

import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.EvalSampler;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.tensor.JoinDivisor;
import io.hvd.train.UnevenSteps;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * A training of which the last batches differ in size, and the ranks in their number of steps: every sample is seen once per
 * epoch, as by one rank whose batches are those of all ranks together.
 */
final class UnevenTraining {
    private static final int BATCH = 3;
    private static final int EPOCHS = 3;

    private UnevenTraining() {}

    /** A collective. The data set is one sample longer than all ranks' first two batches, so rank 0 has a third one. */
    static void requireAsOneRank(HvdContext hvd) {
        int block = BATCH * hvd.size();
        int samples = 2 * block + 1;
        float[] weights = train(hvd, samples);

        Models.Net whole = new Models.Net(7);
        SGD sgd = new SGD(whole.parameters(), Models.sgd(0.05));
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
            for (int from = 0; from < samples; from += block) {
                sgd.zero_grad();
                whole.loss(from, Math.min(samples, from + block)).backward();
                sgd.step();
            }
        }
        assertClose(weights, Models.weights(whole), 1e-5);
    }

    private static float[] train(HvdContext hvd, int samples) {
        Models.Net net = new Models.Net(7);
        var optimizer = DistributedOptimizer.wrap(
                        new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05)), net.named_parameters()))
                .weightByBatchSize()
                .bucketBytes(64)
                .build();
        var sampler = new EvalSampler(samples, hvd.size(), hvd.rank());
        Dataset<Integer> data = Dataset.of(IntStream.range(0, samples).boxed().toList());
        try (var loader = DataLoader.<Integer, List<Integer>>builder(data, sampler, batch -> List.copyOf(batch))
                .batchSize(BATCH)
                .evenSteps(UnevenSteps.JOIN.among(hvd))
                .build()) {
            for (int epoch = 0; epoch < EPOCHS; epoch++) {
                for (List<Integer> batch : loader) {
                    try (PointerScope scope = new PointerScope()) {
                        optimizer.zeroGradients();
                        optimizer.batchSize(batch.size());
                        mse_loss(
                                        net.forward(rows(batch, i -> Models.inputs(i, i + 1))),
                                        rows(batch, i -> Models.targets(i, i + 1)))
                                .backward();
                        optimizer.step();
                    }
                }
                int last = optimizer.join(JoinDivisor.ACTIVE);
                assertThat(last).as("the only rank with a third batch").isZero();
            }
        }
        return Models.weights(net);
    }

    private static Tensor rows(List<Integer> samples, IntFunction<Tensor> row) {
        return cat(new TensorVector(samples.stream().map(row::apply).toArray(Tensor[]::new)), 0);
    }
}
