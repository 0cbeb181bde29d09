package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.FullyShardRuns.ADAMW;
import static io.hvd.optimizer.torch.FullyShardRuns.KINDS;
import static io.hvd.optimizer.torch.FullyShardRuns.SAME;
import static io.hvd.optimizer.torch.FullyShardRuns.SAMPLES;
import static io.hvd.optimizer.torch.FullyShardRuns.STAGES;
import static io.hvd.optimizer.torch.FullyShardRuns.assertSame;
import static io.hvd.optimizer.torch.FullyShardRuns.distance;
import static io.hvd.optimizer.torch.FullyShardRuns.doubles;
import static io.hvd.optimizer.torch.FullyShardRuns.sample;
import static io.hvd.optimizer.torch.FullyShardRuns.sharded;
import static io.hvd.optimizer.torch.FullyShardRuns.steps;
import static io.hvd.optimizer.torch.FullyShardRuns.whole;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.hvd.optimizer.torch.FullyShardRuns.Trained;
import io.hvd.optimizer.torch.FullyShardRuns.Way;
import io.hvd.tensor.DType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import java.util.function.IntSupplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Models that are fully sharded, beside the same ones that every rank has whole. */
@Timeout(180)
abstract class FullyShardTraining {
    abstract GradientSamples.Ranks ranks();

    @Test
    void lossesAndParametersAreThoseOfTheWholeModel() throws Exception {
        ranks().run(hvd -> {
            for (var kind : KINDS) {
                Trained expected = whole(hvd, ResidualModel.of(ScalarType.Double, 3), kind, Way.PLAIN);
                for (FullyShardOptions stage : STAGES) {
                    ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
                    try (FullyShard shard = model.sharded(FullyShard.over(hvd, stage))) {
                        assertSame(hvd, sharded(hvd, shard, model, kind, Way.PLAIN), expected, SAME);
                        assertThat(shard.gatheredBytes()).isZero();
                    }
                }
            }
            return null;
        });
    }

    @Test
    void gradientsOfSeveralPassesAddUpAndAreClippedByTheNormOfAll() throws Exception {
        ranks().run(hvd -> {
            Way way = new Way(4, 3, 0.05);
            Trained expected = whole(hvd, ResidualModel.of(ScalarType.Double, 3), ADAMW, way);
            Trained unclipped = whole(hvd, ResidualModel.of(ScalarType.Double, 3), ADAMW, new Way(4, 3, 1e9));
            assertThat(expected.losses()).isNotEqualTo(unclipped.losses());
            for (FullyShardOptions stage : STAGES) {
                ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
                try (FullyShard shard = model.sharded(FullyShard.over(hvd, stage))) {
                    assertSame(hvd, sharded(hvd, shard, model, ADAMW, way), expected, SAME);
                }
            }
            return null;
        });
    }

    /**
     * bfloat16 has 8 bits of mantissa: weights, activations and gradients are each rounded by up to 2^-9 of themselves. A gradient passes through
     * a dozen such roundings, about 2 % of its length altogether; what it does to small steps of SGD is as much of the way that the
     * parameters go. Were one block's gradient missing, or the sum of the ranks instead of the mean, it would be more than a tenth.
     */
    @Test
    void unitsComputeInBfloat16WhileTheShardsStayInFloat32() throws Exception {
        ranks().run(hvd -> {
            Function<TensorVector, Optimizer> slow = share -> new SGD(share, Models.sgd(0.001));
            Trained expected = whole(hvd, ResidualModel.of(ScalarType.Float, 3), slow, Way.PLAIN);
            ResidualModel model = ResidualModel.of(ScalarType.Float, 3);
            FullyShardOptions options = FullyShardOptions.zero3().computeIn(ScalarType.BFloat16);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, options))) {
                var optimizer = shard.optimizer(slow);
                Map<String, double[]> before = doubles(shard.stateDict(0));
                for (int step = 0; step < Way.PLAIN.steps(); step++) {
                    try (PointerScope scope = new PointerScope()) {
                        optimizer.zeroGradients();
                        int from = sample(hvd, step);
                        var loss = model.loss(from, from + SAMPLES, ScalarType.BFloat16);
                        double exact = expected.losses().get(step);
                        assertThat(loss.item_double()).isNotEqualTo(exact).isCloseTo(exact, withinPercentage(5));
                        shard.backward(loss);
                        optimizer.step();
                    }
                }
                Map<String, double[]> after = doubles(shard.stateDict(0));
                if (hvd.rank() == 0) {
                    assertThat(distance(after, expected.parameters()))
                            .isPositive()
                            .isLessThan(0.1 * distance(expected.parameters(), before));
                }
                assertThat(shard.shards().get("block0.flat_param").dtype()).isEqualTo(DType.FLOAT32);
            }
            return null;
        });
    }

    @Test
    void anEvaluationWithoutAGraphGivesTheLossAndLeavesNothingGathered() throws Exception {
        ranks().run(hvd -> {
            ResidualModel whole = ResidualModel.of(ScalarType.Double, 3);
            for (FullyShardOptions stage : STAGES) {
                ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
                try (FullyShard shard = model.sharded(FullyShard.over(hvd, stage));
                        PointerScope scope = new PointerScope();
                        NoGradGuard guard = new NoGradGuard()) {
                    double expected = whole.loss(0, SAMPLES).item_double();
                    assertThat(model.loss(0, SAMPLES).item_double()).isCloseTo(expected, SAME);
                    assertThat(shard.gatheredBytes()).isZero();
                }
            }
            return null;
        });
    }

    /** Storage is what LibTorch itself says of the memory behind a parameter. */
    @Test
    void aUnitHasMemoryWithinItsForwardAndBackwardOnly() throws Exception {
        ranks().run(hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, FullyShardOptions.zero3()));
                    PointerScope scope = new PointerScope()) {
                IntSupplier present = () -> (int) model.blocks.stream()
                        .filter(block -> block.up
                                .weight()
                                .storage()
                                .unsafeGetStorageImpl()
                                ._mutable_data_ptr_no_checks()
                                .asBoolean())
                        .count();
                assertThat(present.getAsInt()).isZero();
                assertThat(model.first
                                .weight()
                                .storage()
                                .unsafeGetStorageImpl()
                                ._mutable_data_ptr_no_checks()
                                .asBoolean())
                        .isFalse();
                List<Integer> seen = new ArrayList<>();
                var x = Models.inputs(0, SAMPLES).to(ScalarType.Double);
                var y = shard.forward(() -> {
                    var h = model.first.forward(x);
                    for (int i = 0; i < 3; i++) {
                        ResidualModel.Block block = model.blocks.get(i);
                        h = shard.forward(
                                "block" + i,
                                in -> {
                                    seen.add(present.getAsInt());
                                    return block.forward(in);
                                },
                                h);
                        seen.add(present.getAsInt());
                    }
                    return model.last.forward(h);
                });
                assertThat(seen).containsExactly(1, 0, 1, 0, 1, 0);
                shard.backward(y.sum());
                assertThat(present.getAsInt()).isZero();
                assertThat(shard.gatheredBytes()).isZero();
                long largest = 8 * (2 * 11 * 8 + 11 + 8 + 2 * 8 + 3 * 8);
                // The root with its gradients, and of units two whole and two gradients.
                assertThat(shard.mostGatheredBytes()).isPositive().isLessThan(2 * 8 * 100 + 4 * largest);
            }
            return null;
        });
    }

    @Test
    void whoTouchesAParameterOutsideIsToldWhereItIs() throws Exception {
        ranks().run(hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, FullyShardOptions.zero3()));
                    PointerScope scope = new PointerScope()) {
                for (var touched : List.of(
                        model.blocks.get(1).up.weight(),
                        model.blocks.get(1).norm.bias())) {
                    assertThatThrownBy(() -> touched.detach().add(new Scalar(1.0)))
                            .hasMessageContainingAll(
                                    "unit \"block1\" are not gathered", "FullyShard.forward(\"block1\"");
                    assertThatThrownBy(() -> touched.detach().zero_()).hasMessageContaining("not gathered");
                }
                assertThat(shard.toString()).contains("4 unit(s)", hvd.size() + " rank(s)");
            }
            return null;
        });
    }

    /** Every rank fails alike, as by a batch that is refused; the next one is trained as if nothing had been. */
    @Test
    void aForwardThatFailsOnAllRanksLeavesNothingBehind() throws Exception {
        ranks().run(hvd -> {
            Trained expected = whole(hvd, ResidualModel.of(ScalarType.Double, 3), ADAMW, new Way(3, 1, 1e9));
            for (FullyShardOptions stage : STAGES) {
                ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
                try (FullyShard shard = model.sharded(FullyShard.over(hvd, stage))) {
                    var optimizer = shard.optimizer(ADAMW);
                    List<Double> losses = new ArrayList<>(steps(hvd, shard, model, optimizer, new Way(2, 1, 1e9), 0));
                    optimizer.zeroGradients();
                    assertThatThrownBy(() -> shard.forward(() -> {
                                var h = model.first.forward(Models.inputs(0, 2).to(ScalarType.Double));
                                var first = shard.forward("block0", model.blocks.get(0)::forward, h);
                                return shard.forward(
                                        "block1",
                                        in -> {
                                            throw new IllegalStateException("bad batch");
                                        },
                                        first);
                            }))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessage("bad batch");
                    losses.addAll(steps(hvd, shard, model, optimizer, new Way(1, 1, 1e9), 2));
                    assertSame(hvd, new Trained(losses, doubles(shard.stateDict(0))), expected, SAME);
                }
            }
            return null;
        });
    }

    @Test
    void randomUnitsTrainLikeTheWholeModel() throws Exception {
        for (long seed = 1; seed <= 4; seed++) {
            long now = seed;
            ranks().run(hvd -> {
                Random random = new Random(now);
                int[] inner = random.ints(1 + random.nextInt(4), 1, 20).toArray();
                FullyShardOptions stage = STAGES.get(random.nextInt(STAGES.size()));
                Way way = new Way(3, 1 + random.nextInt(2), random.nextBoolean() ? 0.1 : 1e9);
                Trained expected = whole(hvd, new ResidualModel(ScalarType.Double, now, inner), ADAMW, way);
                ResidualModel model = new ResidualModel(ScalarType.Double, now, inner);
                try (FullyShard shard = model.sharded(FullyShard.over(hvd, stage))) {
                    Trained found = sharded(hvd, shard, model, ADAMW, way);
                    assertThat(found.losses())
                            .as("seed %d, %s", now, Arrays.toString(inner))
                            .isNotEmpty();
                    assertSame(hvd, found, expected, SAME);
                }
                return null;
            });
        }
    }
}
