package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.mse_loss;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import java.util.Arrays;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;

/** Each rank of {@link RebindIT} trains on after a shutdown and compares the weights with those of a training without a break. */
final class RebindProgram {
    private static final int STEPS = 5;

    private RebindProgram() {}

    public static void main(String[] args) {
        HvdContext first = Hvd.init();
        Models.Net whole = new Models.Net(7);
        Models.Net broken = new Models.Net(7);
        float[] wholeArray = {1, 2, 3};
        float[] brokenArray = {1, 2, 3};
        try (DistributedOptimizer unbroken = torch(whole)) {
            steps(unbroken, whole, first, 0, 2 * STEPS);
        }
        float[] gradient = new float[3];
        try (DistributedOptimizer unbroken = arrays(wholeArray, gradient)) {
            steps(unbroken, wholeArray, gradient, first, 0, 2 * STEPS);
        }
        DistributedOptimizer torch = torch(broken);
        steps(torch, broken, first, 0, STEPS);
        DistributedOptimizer arrays = arrays(brokenArray, gradient);
        steps(arrays, brokenArray, gradient, first, 0, STEPS);
        Hvd.shutdown();
        try (HvdContext next = Hvd.init()) {
            torch.rebind(next);
            arrays.rebind(next);
            steps(torch, broken, next, STEPS, 2 * STEPS);
            steps(arrays, brokenArray, gradient, next, STEPS, 2 * STEPS);
            System.out.println("REBOUND torch=" + Arrays.equals(Models.weights(whole), Models.weights(broken))
                    + " arrays=" + Arrays.equals(wholeArray, brokenArray));
        }
    }

    private static DistributedOptimizer torch(Models.Net net) {
        return DistributedOptimizer.wrap(
                        new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05)), net.named_parameters()))
                .build();
    }

    private static DistributedOptimizer arrays(float[] values, float[] gradient) {
        return DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", values, gradient), 0.1, 0.9, 0))
                .build();
    }

    private static void steps(DistributedOptimizer optimizer, Models.Net net, HvdContext hvd, int from, int to) {
        for (int step = from; step < to; step++) {
            int sample = step * hvd.size() + hvd.rank();
            try (PointerScope scope = new PointerScope()) {
                optimizer.zeroGradients();
                mse_loss(net.forward(Models.inputs(sample, sample + 4)), Models.targets(sample, sample + 4))
                        .backward();
                optimizer.step();
            }
        }
    }

    private static void steps(
            DistributedOptimizer optimizer, float[] values, float[] gradient, HvdContext hvd, int from, int to) {
        for (int step = from; step < to; step++) {
            optimizer.zeroGradients();
            for (int i = 0; i < values.length; i++) {
                gradient[i] = values[i] / 3 + step - hvd.rank();
            }
            optimizer.step();
        }
    }
}
