package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.RankBody;
import io.hvd.error.HvdException;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.optimizer.reduce.Int8;
import io.hvd.optimizer.reduce.PowerSgd;
import io.hvd.optimizer.reduce.Threshold;
import io.hvd.optimizer.reduce.TopK;
import io.hvd.tensor.Shape;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** hvd's own reducers, on 2 and 4 ranks that are threads. */
class ReducersTest extends ReducerAverages {
    @Override
    void onAll(RankBody<Void> body) {
        for (int size : new int[] {2, 4}) {
            Hvd.spawn(size, body);
        }
    }

    @Test
    void powerSgdCompressesWhereItPays() {
        assertThat(PowerSgd.Settings.ofRank(1).compresses(100, 100))
                .as("400 < 10,000")
                .isTrue();
        assertThat(PowerSgd.Settings.ofRank(1).compresses(2, 2)).as("8 > 4").isFalse();
    }

    @Test
    void parametersMayHaveTheNamesOfTheCollectives() {
        Hvd.spawn(2, hvd -> {
            for (GradientReducer reducer :
                    List.of(new PowerSgd(PowerSgd.Settings.ofRank(1).startingAt(0)), new TopK(0.1), new Int8())) {
                ArrayParameters parameters =
                        new ArrayParameters().add("matrix", new float[144], new float[144], Shape.of(12, 12));
                float[] gradient = {2 * hvd.rank()};
                List.of("p", "q", "sparse", "shares", "averages")
                        .forEach(name -> parameters.add(name, new float[1], gradient.clone()));
                DistributedOptimizer.wrap(new Sgd(parameters, 1))
                        .reducer(reducer)
                        .build()
                        .synchronize();
                parameters.list().stream()
                        .skip(1)
                        .forEach(parameter -> assertThat(parameter.gradient().item())
                                .as(parameter.name())
                                .isEqualTo(1));
            }
            return null;
        });
    }

    @Test
    void settingsWithoutAMeaningAreRefused() {
        refused(() -> new PowerSgd(0), "PowerSgd: rank is 0, expected 1 or more");
        refused(() -> PowerSgd.Settings.ofRank(1).startingAt(-1), "startIteration is -1");
        refused(() -> new PowerSgd.Settings(1, 1, 0, true, true, 0, 0), "minCompressionRate is 0.0");
        refused(() -> new PowerSgd.Settings(1, 1, 2, true, true, -1, 0), "orthogonalisationEpsilon is -1.0");
        for (double fraction : List.of(0.0, 1.5, Double.NaN)) {
            refused(() -> new TopK(fraction), "fraction is " + fraction);
        }
        refused(() -> new Threshold(0), "threshold is 0.0");
        refused(() -> new Threshold(1, 0.5, 5), "clipAt is 0.5");
        refused(() -> new Threshold(1, 5, 0), "clipEvery is 0");
    }

    private static void refused(ThrowingCallable call, String fact) {
        assertThatThrownBy(call).isInstanceOf(HvdException.class).hasMessageContaining(fact);
    }

    @Test
    void whatThresholdLeavesOutIsCutOffIfAsked() {
        Hvd.spawn(2, hvd -> {
            float[] gradient = new float[100];
            Threshold reducer = new Threshold(1, 5, 2);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("w", new float[100], gradient), 1))
                    .reducer(reducer)
                    .build();
            gradient[3] = 20;
            optimizer.synchronize();
            assertThat(gradient[3]).isEqualTo(1);
            assertThat(reducer.leftOut("w")[3]).as("step 0").isEqualTo(19);
            gradient[3] = 20;
            optimizer.synchronize();
            assertThat(reducer.leftOut("w")[3]).as("step 1").isEqualTo(5);
            return null;
        });
    }
}
