package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.FullyShardRuns.ADAMW;
import static io.hvd.optimizer.torch.FullyShardRuns.SAME;
import static io.hvd.optimizer.torch.FullyShardRuns.SAMPLES;
import static io.hvd.optimizer.torch.FullyShardRuns.STAGES;
import static io.hvd.optimizer.torch.FullyShardRuns.assertSame;
import static io.hvd.optimizer.torch.FullyShardRuns.doubles;
import static io.hvd.optimizer.torch.FullyShardRuns.sharded;
import static io.hvd.optimizer.torch.FullyShardRuns.steps;
import static io.hvd.optimizer.torch.FullyShardRuns.whole;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.FullyShardRuns.Trained;
import io.hvd.optimizer.torch.FullyShardRuns.Way;
import io.hvd.tensor.Tensor;
import io.hvd.train.LearningRate;
import io.hvd.train.Schedule;
import io.hvd.train.TrainingLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.SequentialImpl;
import org.bytedeco.pytorch.TanhImpl;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** States of fully sharded models, and units of several kinds. */
@Timeout(180)
abstract class FullyShardModels {
    abstract GradientSamples.Ranks ranks();

    /** Other weights on other ranks are overwritten by the first rank's. */
    @Test
    void allRanksBeginWithTheValuesOfTheFirstOne() throws Exception {
        ranks().run(hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Double, 3 + hvd.rank());
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, FullyShardOptions.zero3()))) {
                SortedMap<String, Tensor> state = shard.stateDict(hvd.size() - 1);
                if (hvd.rank() == hvd.size() - 1) {
                    Map<String, double[]> first = doubles(StateDict.of(ResidualModel.of(ScalarType.Double, 3)));
                    assertThat(state.keySet()).isEqualTo(first.keySet());
                    doubles(state)
                            .forEach((name, values) ->
                                    assertThat(values).as(name).containsExactly(first.get(name)));
                } else {
                    assertThat(state).isEmpty();
                }
            }
            return null;
        });
    }

    @Test
    void shardsGoFromAnyNumberOfRanksToAnyOtherToTheBit() throws Exception {
        ranks().run(hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Float, 3);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, FullyShardOptions.zero3()))) {
                var optimizer = shard.optimizer(ADAMW);
                steps(hvd, shard, model, optimizer, new Way(2, 1, 1e9), 0);
                optimizer.learningRate(0.005);
                SortedMap<String, Tensor> mine = shard.shards();
                assertThat(mine)
                        .containsKeys("block0.flat_param", "flat_param.moment.exp_avg", "flat_param.moment.step");
                SortedMap<String, Tensor> before = shard.stateDict(0);
                List<Double> losses = steps(hvd, shard, model, optimizer, new Way(2, 1, 1e9), 2);
                SortedMap<String, Tensor> after = shard.stateDict(0);

                shard.loadShards(hvd.size(), rank -> {
                    assertThat(rank).isEqualTo(hvd.rank());
                    return mine;
                });
                assertThat(doubles(shard.stateDict(0)))
                        .usingRecursiveComparison()
                        .isEqualTo(doubles(before));
                assertThat(optimizer.learningRate()).isEqualTo(0.005);
                assertThat(steps(hvd, shard, model, optimizer, new Way(2, 1, 1e9), 2))
                        .isEqualTo(losses);
                assertThat(doubles(shard.stateDict(0)))
                        .usingRecursiveComparison()
                        .isEqualTo(doubles(after));
            }
            return null;
        });
    }

    @Test
    void aWholeStateGoesToAllRanksAndOneOfAnotherModelIsRefusedOnAll() throws Exception {
        ranks().run(hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
            ResidualModel other = ResidualModel.of(ScalarType.Double, 5);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, FullyShardOptions.zero2()))) {
                Map<String, Tensor> state = hvd.rank() == 0 ? StateDict.of(other) : null;
                shard.loadStateDict(state, 0);
                SortedMap<String, Tensor> found = shard.stateDict(0);
                if (hvd.rank() == 0) {
                    assertThat(doubles(found)).usingRecursiveComparison().isEqualTo(doubles(state));
                    state.remove("block1.up.bias");
                }
                assertThatThrownBy(() -> shard.loadStateDict(state, 0))
                        .isInstanceOfSatisfying(
                                HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                        .hasMessageContainingAll("rank 0", "[block1.up.bias]");
            }
            return null;
        });
    }

    /** Running statistics are each rank's own, of its batches; the first rank's are what all begin with. */
    @Test
    void buffersStayWholeAndAUnitMayHaveNoParameters() throws Exception {
        ranks().run(hvd -> {
            var model = new SequentialImpl();
            var dense = new LinearImpl(Models.INPUTS, 4);
            var norm = new BatchNorm1dImpl(new BatchNormOptions(4));
            norm.running_mean().fill_(new Scalar(hvd.rank() + 1.0));
            model.push_back("dense", dense);
            model.push_back("norm", norm);
            try (FullyShard shard = FullyShard.over(hvd, FullyShardOptions.zero3());
                    PointerScope scope = new PointerScope()) {
                shard.unit("dense", dense)
                        .unit("norm", norm)
                        .unit("tanh", new TanhImpl())
                        .root(model);
                var optimizer = shard.optimizer(ADAMW);
                assertThat(norm.running_mean().min().item_float()).isEqualTo(1);
                var y = shard.forward(() -> {
                    var h = shard.forward("dense", dense::forward, Models.inputs(0, 6));
                    return shard.forward("tanh", x -> x.tanh(), shard.forward("norm", norm::forward, h));
                });
                shard.backward(y.square().sum());
                optimizer.step();
                assertThat(norm.running_mean().min().item_float()).isNotEqualTo(1);
                float[] mean = Models.floats(norm.running_mean());
                SortedMap<String, Tensor> mine = shard.shards();
                SortedMap<String, Tensor> state = shard.stateDict(0);
                norm.running_mean().zero_();
                if (hvd.rank() == 0) {
                    assertThat(state)
                            .containsOnlyKeys(
                                    "dense.weight",
                                    "dense.bias",
                                    "norm.weight",
                                    "norm.bias",
                                    "norm.running_mean",
                                    "norm.running_var",
                                    "norm.num_batches_tracked");
                }
                shard.loadStateDict(state, 0);
                assertThat(Models.floats(norm.running_mean())).containsExactly(mean);
                norm.running_mean().zero_();
                shard.loadShards(hvd.size(), rank -> mine);
                assertThat(Models.floats(norm.running_mean())).containsExactly(mean);
            }
            return null;
        });
    }

    /** A frozen unit is gathered for backward, which goes through it, and is neither reduced nor stepped. */
    @Test
    void frozenParametersAreSharedOutAndStayAsTheyAre() throws Exception {
        ranks().run(hvd -> {
            for (FullyShardOptions stage : STAGES) {
                List<Trained> trained = new ArrayList<>();
                for (boolean shared : new boolean[] {false, true}) {
                    ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
                    model.blocks.get(1).up.weight().set_requires_grad(false);
                    for (var frozen : List.of(
                            model.blocks.get(2).up.weight(),
                            model.blocks.get(2).up.bias(),
                            model.blocks.get(2).down.weight(),
                            model.blocks.get(2).down.bias(),
                            model.blocks.get(2).norm.weight(),
                            model.blocks.get(2).norm.bias())) {
                        frozen.set_requires_grad(false);
                    }
                    if (shared) {
                        try (FullyShard shard = model.sharded(FullyShard.over(hvd, stage))) {
                            trained.add(sharded(hvd, shard, model, ADAMW, Way.PLAIN));
                            assertThat(shard.shards())
                                    .containsKeys("block1.frozen_flat_param", "block2.frozen_flat_param")
                                    .doesNotContainKey("block2.flat_param");
                        }
                    } else {
                        trained.add(whole(hvd, model, ADAMW, Way.PLAIN));
                    }
                }
                assertSame(hvd, trained.get(1), trained.get(0), SAME);
            }
            return null;
        });
    }

    /** A layer that is called twice has one gradient, which is complete after the first call's backward. */
    @Test
    void aUnitThatIsCalledTwiceHasTheSumOfBothGradients() throws Exception {
        ranks().run(hvd -> {
            for (FullyShardOptions stage : STAGES) {
                List<float[]> gradients = new ArrayList<>();
                for (boolean shared : new boolean[] {false, true}) {
                    ResidualModel model = ResidualModel.of(ScalarType.Float, 3);
                    ResidualModel.Block once = model.blocks.get(0);
                    ResidualModel.Block twice = model.blocks.get(1);
                    try (PointerScope scope = new PointerScope()) {
                        var x = Models.inputs(0, SAMPLES)
                                .matmul(Models.inputs(0, 8).t());
                        if (shared) {
                            try (FullyShard shard = FullyShard.over(hvd, stage)) {
                                shard.unit("twice", twice).unit("once", once);
                                var h = shard.forward("twice", twice::forward, x);
                                var y = shard.forward("twice", twice::forward, shard.forward("once", once::forward, h));
                                var optimizer = shard.optimizer(share -> new SGD(share, new SGDOptions(1)));
                                shard.backward(y.square().mean());
                                optimizer.step();
                                SortedMap<String, Tensor> state = shard.stateDict(0);
                                gradients.add(
                                        hvd.rank() == 0
                                                ? state.get("twice.up.weight").toFloatArray()
                                                : null);
                            }
                        } else {
                            var y = twice.forward(once.forward(twice.forward(x)));
                            y.square().mean().backward();
                            gradients.add(Models.floats(twice.up
                                    .weight()
                                    .detach()
                                    .sub(twice.up.weight().grad())));
                        }
                    }
                }
                if (hvd.rank() == 0) {
                    assertThat(gradients.get(1)).containsExactly(gradients.get(0), within(1e-4f));
                }
            }
            return null;
        });
    }

    @Test
    void aTrainingLoopWithAScheduleStepsIt() throws Exception {
        ranks().run(hvd -> {
            ResidualModel model = ResidualModel.of(ScalarType.Double, 3);
            try (FullyShard shard = model.sharded(FullyShard.over(hvd, FullyShardOptions.zero3()))) {
                var optimizer = shard.optimizer(ADAMW);
                List<Double> rates = new ArrayList<>();
                TrainingLoop.of(hvd, optimizer)
                        .with(new LearningRate(Schedule.step(0.01, 0.5, 1)))
                        .run(3, List.of(0, 1), 2, (batch, training) -> {
                            steps(hvd, shard, model, optimizer, new Way(1, 1, 1e9), batch);
                            rates.add(optimizer.learningRate());
                        });
                assertThat(rates).containsExactly(0.01, 0.01, 0.005, 0.005, 0.0025, 0.0025);
            }
            return null;
        });
    }
}
