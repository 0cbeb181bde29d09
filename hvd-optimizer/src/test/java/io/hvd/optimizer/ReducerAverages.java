package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.HvdContext;
import io.hvd.RankBody;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.optimizer.reduce.Int8;
import io.hvd.optimizer.reduce.PowerSgd;
import io.hvd.optimizer.reduce.Threshold;
import io.hvd.optimizer.reduce.TopK;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What hvd's own reducers make of gradients, on ranks of every kind. */
@Timeout(120)
abstract class ReducerAverages {
    private static final Shape SHAPE = Shape.of(40, 6, 10);
    private static final int ELEMENTS = 2400;
    private static final int STEPS = 12;

    /** Runs a body on every rank. */
    abstract void onAll(RankBody<Void> body) throws Exception;

    /** A reducer, and how to ask it for what it has left out. */
    private record Kind<R extends GradientReducer>(Supplier<R> make, Function<R, float[]> leftOut) {}

    private static final List<Kind<?>> WITH_MEMORY = List.of(
            new Kind<>(() -> new PowerSgd(settings(2)), reducer -> reducer.leftOut("w")),
            new Kind<>(() -> new TopK(0.05), reducer -> reducer.leftOut("w")),
            new Kind<>(() -> new Threshold(2.2), reducer -> reducer.leftOut("w")),
            new Kind<>(() -> new Threshold(0.7), reducer -> reducer.leftOut("w")),
            new Kind<>(Int8::new, reducer -> reducer.leftOut("w")));

    private static PowerSgd.Settings settings(int rank) {
        return PowerSgd.Settings.ofRank(rank).startingAt(0);
    }

    /** One matrix and one vector. */
    private static final class Gradients {
        final float[] w = new float[ELEMENTS];
        final float[] b = new float[3];
        final DistributedOptimizer optimizer;

        Gradients(HvdContext hvd, GradientReducer reducer) {
            ArrayParameters parameters = new ArrayParameters()
                    .add("w", new float[ELEMENTS], w, SHAPE)
                    .add("b", new float[3], b);
            optimizer = DistributedOptimizer.wrap(new Sgd(parameters, 1))
                    .context(hvd)
                    .reducer(reducer)
                    .build();
        }

        void random(int step, int rank) {
            Random random = new Random(1000 * step + rank);
            for (int i = 0; i < ELEMENTS; i++) {
                w[i] = (float) random.nextGaussian();
            }
        }
    }

    private static float[] average(HvdContext hvd, float[] mine) {
        return hvd.allreduce("true average", Tensor.wrap(mine.clone(), DType.FLOAT32, Shape.of(mine.length)))
                .toFloatArray();
    }

    private static void addTo(double[] sum, float[] values) {
        for (int i = 0; i < sum.length; i++) {
            sum[i] += values[i];
        }
    }

    @Test
    void whatArrivesAndWhatIsLeftOutAreTogetherTheTrueGradients() throws Exception {
        onAll(hvd -> {
            for (Kind<?> kind : WITH_MEMORY) {
                addUp(hvd, kind);
            }
            return null;
        });
    }

    private static <R extends GradientReducer> void addUp(HvdContext hvd, Kind<R> kind) {
        R reducer = kind.make.get();
        Gradients gradients = new Gradients(hvd, reducer);
        double[] arrived = new double[ELEMENTS];
        double[] expected = new double[ELEMENTS];
        for (int step = 0; step < STEPS; step++) {
            gradients.random(step, hvd.rank());
            addTo(expected, average(hvd, gradients.w));
            gradients.b[1] = hvd.rank();
            gradients.optimizer.synchronize();
            addTo(arrived, gradients.w);
            assertThat(gradients.b[1]).isEqualTo((hvd.size() - 1) / 2f, within(0.01f));
            assertSameEverywhere(hvd, gradients.w);
        }
        float[] mine = kind.leftOut.apply(reducer);
        assertThat(mine).as(reducer.settings() + " leaves something out").isNotEqualTo(new float[ELEMENTS]);
        addTo(arrived, average(hvd, mine));
        for (int i = 0; i < ELEMENTS; i++) {
            assertThat(arrived[i]).as("%s, element %d", reducer.settings(), i).isEqualTo(expected[i], within(2e-4));
        }
    }

    private static void assertSameEverywhere(HvdContext hvd, float[] values) {
        Tensor all = hvd.allgather("values", Tensor.wrap(values.clone(), DType.FLOAT32, Shape.of(1, values.length)));
        float[] flat = all.toFloatArray();
        for (int i = 0; i < flat.length; i++) {
            assertThat(flat[i]).isEqualTo(values[i % values.length]);
        }
    }

    @Test
    void fewerBytesAreSent() throws Exception {
        onAll(hvd -> {
            long vector = 12;
            assertThat(sent(hvd, new PowerSgd(settings(1)))).isEqualTo(4 * (40 + 60) + vector);
            assertThat(sent(hvd, new PowerSgd(1))).as("before step 1,000").isEqualTo(4 * ELEMENTS + vector);
            assertThat(sent(hvd, new TopK(0.01))).isEqualTo(4 * (1 + 2 * 24) + vector);
            assertThat(sent(hvd, new Threshold(0.01))).as("two bits each").isEqualTo(4 + ELEMENTS / 4 + vector);
            assertThat(sent(hvd, new Int8())).isBetween(2400L, 2L * ELEMENTS + 100);
            return null;
        });
    }

    /** Two narrow matrices of 100 numbers in place of 10,000, but not two of 2 in place of 4. */
    @Test
    void powerSgdSendsNarrowMatricesOnlyWhereTheyAreHalfAsManyNumbersAtMost() throws Exception {
        onAll(hvd -> {
            assertThat(sentOfSquare(hvd, 100)).isEqualTo(4 * (100 + 100));
            assertThat(sentOfSquare(hvd, 2)).isEqualTo(4 * 2 * 2);
            return null;
        });
    }

    private static long sentOfSquare(HvdContext hvd, int side) {
        float[] gradient = new float[side * side];
        gradient[side] = 1 + hvd.rank();
        var optimizer = DistributedOptimizer.wrap(new Sgd(
                        new ArrayParameters().add("m", new float[side * side], gradient, Shape.of(side, side)), 1))
                .context(hvd)
                .reducer(new PowerSgd(settings(1)))
                .build();
        optimizer.synchronize();
        assertThat(gradient[side]).isEqualTo((hvd.size() + 1) / 2f, within(1e-3f));
        return optimizer.lastStep().bytesSent();
    }

    private static long sent(HvdContext hvd, GradientReducer reducer) {
        Gradients gradients = new Gradients(hvd, reducer);
        gradients.random(1, hvd.rank());
        gradients.optimizer.synchronize();
        assertThat(gradients.optimizer.lastStep().bytes()).isEqualTo(4 * ELEMENTS + 12);
        return gradients.optimizer.lastStep().bytesSent();
    }

    /** The ranks' gradients are of higher rank, their average is not. */
    @Test
    void aMatrixOfRankOneComesThroughPowerSgdExactly() throws Exception {
        onAll(hvd -> {
            Gradients gradients = new Gradients(hvd, new PowerSgd(settings(1)));
            float[] expected = new float[ELEMENTS];
            for (int i = 0; i < ELEMENTS; i++) {
                expected[i] = (1 + i / 60) * (float) Math.cos(i % 60);
                float own = (float) Math.sin(i * i) * (hvd.rank() == 0 ? 1 : hvd.rank() == 1 ? -1 : 0);
                gradients.w[i] = expected[i] + own;
            }
            gradients.optimizer.synchronize();
            for (int i = 0; i < ELEMENTS; i++) {
                assertThat(gradients.w[i]).as("element " + i).isEqualTo(expected[i], within(5e-4f));
            }
            return null;
        });
    }

    @Test
    void int8AveragesWithinItsRounding() throws Exception {
        onAll(hvd -> {
            Gradients gradients = new Gradients(hvd, new Int8());
            gradients.random(5, hvd.rank());
            float[] expected = average(hvd, gradients.w);
            gradients.optimizer.synchronize();
            for (int i = 0; i < ELEMENTS; i++) {
                assertThat(gradients.w[i]).isEqualTo(expected[i], within(2 * 9f / 510));
            }
            return null;
        });
    }

    /** An overflow of one rank reaches all, and is forgotten. */
    @Test
    void aGradientThatIsNotFiniteIsSeenByAllRanksAndStaysInNoMemory() throws Exception {
        onAll(hvd -> {
            for (Kind<?> kind : WITH_MEMORY) {
                overflow(hvd, kind);
            }
            return null;
        });
    }

    private static <R extends GradientReducer> void overflow(HvdContext hvd, Kind<R> kind) {
        R reducer = kind.make.get();
        Gradients gradients = new Gradients(hvd, reducer);
        gradients.random(0, hvd.rank());
        gradients.optimizer.synchronize();
        float[] before = kind.leftOut.apply(reducer);
        gradients.random(1, hvd.rank());
        if (hvd.rank() == 1) {
            gradients.w[7] = Float.POSITIVE_INFINITY;
        }
        gradients.optimizer.synchronize();
        assertThat(gradients.w[7]).as(reducer.settings()).isNaN();
        float[] after = kind.leftOut.apply(reducer);
        for (int i = 0; i < 1024; i++) {
            assertThat(after[i]).as(reducer.settings()).isEqualTo(before[i], within(1e-5f));
        }
        gradients.random(2, hvd.rank());
        gradients.optimizer.synchronize();
        assertThat(gradients.w).doesNotContain(Float.NaN);
    }

    @Test
    void aSmallNetLearnsWithEveryReducerAsWithout() throws Exception {
        onAll(hvd -> {
            double expected = loss(hvd, null);
            assertThat(expected).as("about 16 before the first step").isLessThan(1);
            for (Kind<?> kind : List.<Kind<?>>of(
                    new Kind<>(() -> new PowerSgd(new PowerSgd.Settings(1, 10, 1, true, true, 0, 3)), r -> null),
                    new Kind<>(() -> new PowerSgd(new PowerSgd.Settings(1, 10, 1, true, false, 1e-8, 3)), r -> null),
                    new Kind<>(() -> new TopK(0.1), r -> null),
                    new Kind<>(() -> new Threshold(0.5), r -> null),
                    new Kind<>(() -> new Threshold(0.5, 5, 5), r -> null),
                    new Kind<>(Int8::new, r -> null))) {
                GradientReducer reducer = kind.make.get();
                assertThat(loss(hvd, reducer)).as(reducer.settings()).isLessThan(1.5 * expected + 0.01);
            }
            return null;
        });
    }

    /** The loss of a linear model of 8 x 12 weights after some steps; every step compares the ranks' weights. */
    private static double loss(HvdContext hvd, GradientReducer reducer) {
        float[] w = new float[96];
        float[] gradient = new float[96];
        DistributedOptimizerBuilder builder = DistributedOptimizer.wrap(
                        new Sgd(new ArrayParameters().add("w", w, gradient, Shape.of(8, 12)), 0.05))
                .context(hvd)
                .compareParametersEvery(1);
        DistributedOptimizer optimizer = (reducer == null ? builder : builder.reducer(reducer)).build();
        double loss = 0;
        for (int step = 0; step < 150; step++) {
            optimizer.zeroGradients();
            loss = 0;
            for (int sample = 0; sample < 8; sample++) {
                loss += backward(w, gradient, new Random(100 * hvd.rank() + sample)) / 8;
            }
            optimizer.step();
        }
        return average(hvd, new float[] {(float) loss})[0];
    }

    /** Squared error of a sample whose targets come from weights that all ranks know. */
    private static double backward(float[] w, float[] gradient, Random random) {
        double[] x = random.doubles(12, -1, 1).toArray();
        double loss = 0;
        for (int row = 0; row < 8; row++) {
            double error = 0;
            for (int i = 0; i < 12; i++) {
                error += (w[12 * row + i] - Math.sin(12 * row + i)) * x[i];
            }
            loss += error * error;
            for (int i = 0; i < 12; i++) {
                gradient[12 * row + i] += (float) (2 * error * x[i] / 8);
            }
        }
        return loss;
    }
}
