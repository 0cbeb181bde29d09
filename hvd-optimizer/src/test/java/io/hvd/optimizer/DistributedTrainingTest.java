package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** N ranks on a share of the batch each end with the weights of one rank on the whole batch. */
@Timeout(60)
class DistributedTrainingTest {
    private static final int BATCH = 12;
    private static final int STEPS = 20;

    static List<Arguments> sizesAndOptimizers() {
        Function<ArrayParameters, Optimizer> sgd = parameters -> new Sgd(parameters, 0.05, 0.9, 0.01);
        Function<ArrayParameters, Optimizer> adam = parameters -> new Adam(parameters, 0.01);
        Function<ArrayParameters, Optimizer> lamb = parameters -> new Lamb(parameters, 0.01);
        Function<ArrayParameters, Optimizer> lars = parameters -> new Lars(parameters, 2);
        List<Arguments> all = new ArrayList<>();
        for (int size = 1; size <= 4; size++) {
            all.add(Arguments.of(size, Named.of("SGD", sgd)));
            all.add(Arguments.of(size, Named.of("Adam", adam)));
            all.add(Arguments.of(size, Named.of("LAMB", lamb)));
            all.add(Arguments.of(size, Named.of("LARS", lars)));
        }
        return all;
    }

    @ParameterizedTest(name = "{0} ranks, {1}")
    @MethodSource("sizesAndOptimizers")
    void ranksThatShareABatchTrainLikeOneRankWithAllOfIt(int size, Function<ArrayParameters, Optimizer> make) {
        float[] expected = oneRank(make);

        List<float[]> weights = Hvd.spawn(size, hvd -> {
            TinyNet net = new TinyNet(7);
            var optimizer =
                    DistributedOptimizer.wrap(make.apply(net.parameters)).build();
            for (int step = 0; step < STEPS; step++) {
                optimizer.zeroGradients();
                backwardOfShare(net, hvd, step);
                optimizer.step();
            }
            return net.weights();
        });

        for (float[] ofRank : weights) {
            assertThat(ofRank).as("all ranks are equal to the last bit").isEqualTo(weights.get(0));
            Closeness.assertClose(ofRank, expected, 1e-5);
        }
    }

    @ParameterizedTest(name = "{0} ranks, {1}")
    @MethodSource("sizesAndOptimizers")
    void gradientsMayBecomeReadyInAnotherOrderOnEveryRank(int size, Function<ArrayParameters, Optimizer> make) {
        float[] expected = oneRank(make);

        List<float[]> weights = Hvd.spawn(size, hvd -> {
            TinyNet net = new TinyNet(7);
            Random random = new Random(hvd.rank());
            var optimizer = DistributedOptimizer.wrap(make.apply(net.parameters))
                    .bucketBytes(8)
                    .build();
            for (int step = 0; step < STEPS; step++) {
                optimizer.zeroGradients();
                backwardOfShare(net, hvd, step);
                List<String> order = new ArrayList<>(TinyNet.names());
                Collections.shuffle(order, random);
                order.forEach(optimizer::gradientReady);
                optimizer.step();
            }
            return net.weights();
        });

        for (float[] ofRank : weights) {
            assertThat(ofRank).isEqualTo(weights.get(0));
            Closeness.assertClose(ofRank, expected, 1e-5);
        }
    }

    @Test
    void trainingLowersTheError() {
        float[] start = new TinyNet(7).weights();

        assertThat(oneRank(parameters -> new Sgd(parameters, 0.05, 0.9, 0.01)))
                .as("weights that never moved would make every other test here pass")
                .isNotEqualTo(start);
    }

    private static void backwardOfShare(TinyNet net, HvdContext hvd, int step) {
        int share = BATCH / hvd.size();
        int from = step * BATCH + hvd.rank() * share;
        net.backward(from, from + share);
    }

    private static float[] oneRank(Function<ArrayParameters, Optimizer> make) {
        TinyNet net = new TinyNet(7);
        Optimizer optimizer = make.apply(net.parameters);
        for (int step = 0; step < STEPS; step++) {
            optimizer.zeroGradients();
            net.backward(step * BATCH, (step + 1) * BATCH);
            optimizer.step();
        }
        return net.weights();
    }
}
