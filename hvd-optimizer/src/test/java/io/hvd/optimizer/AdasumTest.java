package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.RankBody;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Adasum on ranks that are threads. */
class AdasumTest extends AdasumVectors {
    @Override
    void onAll(RankBody<Void> body) {
        for (int size : new int[] {2, 3, 4}) {
            Hvd.spawn(size, InitOptions.standard().withDynamicProcessSets(), body);
        }
    }

    /** Where the ranks' pieces begin and end has nothing to do with where tensors do. */
    private static final int[] LENGTHS = {5, 1, 0, 37, 2};

    /** The formula as it stands in the paper, for two vectors. */
    private static double[] pair(double[] a, double[] b) {
        double ab = 0;
        double aa = 0;
        double bb = 0;
        for (int i = 0; i < a.length; i++) {
            ab += a[i] * b[i];
            aa += a[i] * a[i];
            bb += b[i] * b[i];
        }
        double[] sum = new double[a.length];
        for (int i = 0; i < a.length; i++) {
            double ofA = aa == 0 ? 1 : 1 - ab / (2 * aa);
            double ofB = bb == 0 ? 1 : 1 - ab / (2 * bb);
            sum[i] = ofA * a[i] + ofB * b[i];
        }
        return sum;
    }

    private static double[] tree(List<double[]> vectors) {
        List<double[]> level = vectors;
        while (level.size() > 1) {
            List<double[]> next = new ArrayList<>();
            for (int i = 0; i < level.size(); i += 2) {
                next.add(pair(level.get(i), level.get(i + 1)));
            }
            level = next;
        }
        return level.get(0);
    }

    private static double[] sample(int rank, int tensor) {
        Random random = new Random(100L * rank + tensor);
        double[] values = new double[LENGTHS[tensor]];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (random.nextGaussian() + (tensor == 3 ? 2 : 0));
        }
        return values;
    }

    private static double[] expected(int ranks, int tensor) {
        List<double[]> all = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            all.add(sample(rank, tensor));
        }
        return tree(all);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 8})
    void everyTensorIsCombinedByItselfInATreeOfPairs(int ranks) {
        List<List<double[]>> results = Hvd.spawn(ranks, hvd -> {
            List<double[]> mine = new ArrayList<>();
            List<Tensor> tensors = new ArrayList<>();
            for (int i = 0; i < LENGTHS.length; i++) {
                mine.add(sample(hvd.rank(), i));
                tensors.add(Tensor.of(mine.get(i)));
            }
            new Adasum(hvd).allreduce("five", tensors);
            for (int i = 0; i < LENGTHS.length; i++) {
                assertThat(mine.get(i)).usingComparatorWithPrecision(1e-12).containsExactly(expected(ranks, i));
            }
            return mine;
        });
        results.forEach(result -> {
            for (int i = 0; i < LENGTHS.length; i++) {
                assertThat(result.get(i))
                        .as("the same bits")
                        .isEqualTo(results.get(0).get(i));
            }
        });
    }

    @Test
    void singleAndHalfPrecisionAreCombinedToo() {
        Hvd.spawn(4, hvd -> {
            double[] mine = sample(hvd.rank(), 3);
            float[] single = new float[mine.length];
            short[] half = new short[mine.length];
            short[] brain = new short[mine.length];
            for (int i = 0; i < mine.length; i++) {
                single[i] = (float) mine[i];
                half[i] = HalfFloat.toFloat16(mine[i]);
                brain[i] = HalfFloat.toBfloat16(mine[i]);
            }
            Shape shape = Shape.of(mine.length);
            Tensor ofHalf = Tensor.wrap(half, DType.FLOAT16, shape);
            Tensor ofBrain = Tensor.wrap(brain, DType.BFLOAT16, shape);
            new Adasum(hvd).allreduce("types", List.of(Tensor.of(single), ofHalf, ofBrain));
            double[] expected = expected(4, 3);
            for (int i = 0; i < mine.length; i++) {
                assertThat((double) single[i]).isCloseTo(expected[i], Offset.offset(1e-5));
                assertThat((double) ofHalf.toFloatArray()[i]).isCloseTo(expected[i], Offset.offset(2e-2));
                assertThat((double) ofBrain.toFloatArray()[i]).isCloseTo(expected[i], Offset.offset(1e-1));
            }
            return null;
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 6})
    void aNumberOfRanksThatIsNoPowerOfTwoIsRefusedWithBothNumbers(int ranks) {
        Hvd.spawn(ranks, hvd -> {
            int below = Integer.highestOneBit(ranks);
            assertThatThrownBy(() -> new Adasum(hvd))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED))
                    .hasMessageContainingAll(
                            "power of two", "found " + ranks, "expected " + below + " or " + 2 * below);
            assertThatThrownBy(() -> optimizer(hvd, new float[1], new float[1])).hasMessageContaining("found " + ranks);
            return null;
        });
    }

    @Test
    void aProcessSetOfAPowerOfTwoCombinesAmongItself() {
        Hvd.spawn(3, InitOptions.standard().withDynamicProcessSets(), hvd -> {
            var set = hvd.addProcessSet(List.of(0, 2));
            float[] mine = new float[3];
            mine[hvd.rank()] = 1;
            if (set.included()) {
                new Adasum(set).allreduce("pair", List.of(Tensor.of(mine)));
                assertThat(mine).containsExactly(1, 0, 1);
            }
            return null;
        });
    }

    @Test
    void integersAndTensorsOnGpusAreRefusedByTheirPlace() {
        Hvd.spawn(1, hvd -> {
            Adasum adasum = new Adasum(hvd);
            Tensor onGpu = Tensor.onDevice(64, Device.cuda(0), 0, DType.FLOAT32, Shape.of(2));
            assertThatThrownBy(() -> adasum.allreduce("mixed", List.of(Tensor.of(1f), Tensor.of(1, 2))))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("\"mixed\"", "tensor 1", "host's memory");
            assertThatThrownBy(() -> adasum.allreduce("gpu", List.of(onGpu)))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("\"gpu\"", "tensor 0", "cuda");
            return null;
        });
    }

    private static DistributedOptimizer optimizer(HvdContext hvd, float[] value, float[] gradient) {
        return DistributedOptimizer.wrap(new Adam(new ArrayParameters().add("w", value, gradient), 0.1))
                .context(hvd)
                .op(ReduceOp.ADASUM)
                .build();
    }

    @Test
    void theOptimizerCombinesHowFarTheParametersHaveMoved() {
        Hvd.spawn(4, hvd -> {
            float[] value = {1, 2, 3};
            float[] gradient = new float[3];
            DistributedOptimizer optimizer = optimizer(hvd, value, gradient);
            float[][] alone = new float[4][];
            float[][] gradients = new float[4][3];
            List<Adam> adams = new ArrayList<>();
            for (int rank = 0; rank < 4; rank++) {
                alone[rank] = new float[] {1, 2, 3};
                adams.add(new Adam(new ArrayParameters().add("w", alone[rank], gradients[rank]), 0.1));
            }
            for (int step = 0; step < 3; step++) {
                optimizer.zeroGradients();
                float[] start = value.clone();
                List<double[]> moves = new ArrayList<>();
                for (int rank = 0; rank < 4; rank++) {
                    fill(gradients[rank], rank, step);
                    System.arraycopy(start, 0, alone[rank], 0, 3);
                    adams.get(rank).step();
                    double[] move = new double[3];
                    for (int i = 0; i < 3; i++) {
                        move[i] = alone[rank][i] - start[i];
                    }
                    moves.add(move);
                }
                fill(gradient, hvd.rank(), step);
                optimizer.step();
                double[] together = tree(moves);
                for (int i = 0; i < 3; i++) {
                    assertThat((double) value[i]).isCloseTo(start[i] + together[i], Offset.offset(1e-6));
                }
            }
            assertThat(optimizer.lastStep().bytes()).isEqualTo(12);
            return null;
        });
    }

    private static void fill(float[] gradient, int rank, int step) {
        for (int i = 0; i < gradient.length; i++) {
            gradient[i] = (rank + 1) * (i - 1) + step + (rank == 3 ? -9 : 0);
        }
    }

    private static DistributedOptimizerBuilder sgd(HvdContext hvd, float[] value, double rate) {
        return DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", value, new float[] {1}), rate))
                .context(hvd)
                .op(ReduceOp.ADASUM);
    }

    @Test
    void differentLearningRatesAreRefusedBeforeTheFirstStepUnlessTheyMayDiffer() {
        Hvd.spawn(2, hvd -> {
            float[] value = {1};
            double rate = hvd.rank() + 1;
            assertThatThrownBy(() -> sgd(hvd, value, rate).build().step())
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.DIVERGED))
                    .hasMessageContaining("\"learning rate\" is 1.0 on ranks [0] and 2.0 on ranks [1]");
            assertThat(value).containsExactly(1);
            sgd(hvd, value, rate).settingsMayDiffer().build().step();
            assertThat(value[0]).isLessThan(1);
            return null;
        });
    }

    @Test
    void stepsInsideNoSyncAreRefusedWithAdasumAndOnASingleRank() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer = sgd(hvd, new float[1], 1).build();
            assertStepInsideNoSyncIsRefused(optimizer);
            optimizer.step();
            return null;
        });
        Hvd.spawn(1, hvd -> {
            DistributedOptimizer optimizer =
                    sgd(hvd, new float[1], 1).op(ReduceOp.AVERAGE).build();
            assertStepInsideNoSyncIsRefused(optimizer);
            optimizer.step();
            return null;
        });
    }

    private static void assertStepInsideNoSyncIsRefused(DistributedOptimizer optimizer) {
        try (var local = optimizer.noSync()) {
            assertThatThrownBy(optimizer::step)
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                    .hasMessageContaining("inside noSync()");
        }
    }

    @Test
    void severalPassesAndTheirMeanAreRefused() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer = sgd(hvd, new float[1], 1).build();
            assertThatThrownBy(() -> optimizer.backwardPassesPerStep(2))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("backwardPassesPerStep(2) with ADASUM, expected 1");
            optimizer.backwardPassesPerStep(1);
            assertThatThrownBy(() -> sgd(hvd, new float[1], 1)
                            .localReduction(LocalReduction.MEAN)
                            .build())
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("localReduction MEAN, expected 1, NONE, 1 and SUM");
            return null;
        });
    }

    @Test
    void whatMakesNoSenseWithAdasumIsRefused() {
        Hvd.spawn(2, hvd -> {
            assertThatThrownBy(() -> optimizer(hvd, new float[1], new float[1]).skipSynchronize())
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                    .hasMessageContainingAll("skipSynchronize()", "ADASUM");
            var builder = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("w", new float[1], new float[1]), 0.1))
                    .context(hvd)
                    .op(ReduceOp.ADASUM)
                    .compression(Compression.FP16);
            assertThatThrownBy(builder::build)
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("ADASUM", "compression FP16", "backwardPassesPerStep 1");
            var sharded = ShardedOptimizer.ofArrays(
                    hvd, new ArrayParameters().add("w", new float[1], new float[1]), share -> new Sgd(share, 0.1));
            assertThatThrownBy(() -> DistributedOptimizer.wrap(sharded)
                            .context(hvd)
                            .op(ReduceOp.ADASUM)
                            .build())
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("ADASUM", "ShardedOptimizer");
            return null;
        });
    }

    @Test
    void settingsOfGradientsThatTravelAreRefused() {
        Hvd.spawn(2, hvd -> {
            List<UnaryOperator<DistributedOptimizerBuilder>> settings = List.of(
                    builder -> builder.numGroups(1),
                    builder -> builder.groups(List.of(List.of("w"))),
                    builder -> builder.bucketBytes(64),
                    builder -> builder.allreduceAlwaysFp32(parameter -> true));
            for (UnaryOperator<DistributedOptimizerBuilder> setting : settings) {
                DistributedOptimizerBuilder builder = DistributedOptimizer.wrap(
                                new Sgd(new ArrayParameters().add("w", new float[1], new float[1]), 1))
                        .op(ReduceOp.ADASUM);
                assertThatThrownBy(() -> setting.apply(builder).build())
                        .hasMessageContainingAll("HVD-401", "ADASUM", "numGroups", "groups", "bucketBytes");
            }
            return null;
        });
    }
}
