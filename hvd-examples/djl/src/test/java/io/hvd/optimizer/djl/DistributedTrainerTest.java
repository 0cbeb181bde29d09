package io.hvd.optimizer.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.EasyTrain;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import ai.djl.training.listener.EpochTrainingListener;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.NamedState;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A DJL training on several ranks is that of one rank with the whole batch. Ranks are threads here, which take turns in the engine. */
@Timeout(120)
class DistributedTrainerTest {
    private static final int BATCH = 12;

    private record Trained(Map<String, float[]> weights, float trainLoss, float testLoss) {}

    private static Optimizer sgd() {
        return Optimizer.sgd()
                .setLearningRateTracker(Tracker.multiFactor()
                        .setBaseValue(0.2f)
                        .setSteps(new int[] {3, 6})
                        .optFactor(0.5f)
                        .build())
                .optMomentum(0.9f)
                .build();
    }

    private static Optimizer adam() {
        return Optimizer.adam().optLearningRateTracker(Tracker.fixed(0.02f)).build();
    }

    private static Trained fit(HvdContext hvd, Optimizer optimizer) throws Exception {
        return fit(hvd, optimizer, trainer -> trainer.initialize(TinyTask.INPUT));
    }

    private static Trained fit(HvdContext hvd, Optimizer optimizer, Consumer<Trainer> begin) throws Exception {
        var config = TinyTask.config(optimizer, new EpochTrainingListener(), new EvaluatorTrainingListener());
        try (Model model = TinyTask.model(hvd, false);
                Trainer trainer = DistributedTrainer.of(hvd, model, config)) {
            begin.accept(trainer);
            var manager = model.getNDManager();
            ArrayDataset train = TinyTask.data(manager, RankSampler.training(hvd, BATCH / hvd.size()));
            ArrayDataset test = TinyTask.data(manager, RankSampler.evaluation(hvd, BATCH / hvd.size()));
            EasyTrain.fit(trainer, 2, train, test);
            var result = trainer.getTrainingResult();
            assertThat(result.getEpoch()).isEqualTo(2);
            return new Trained(TinyTask.weights(model), result.getTrainLoss(), result.getValidateLoss());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4})
    void fitOnSeveralRanksIsFitOnOneWithTheWholeBatch(int ranks) {
        Trained one = Hvd.spawn(1, hvd -> fit(hvd, sgd())).get(0);

        List<Trained> several = Hvd.spawn(ranks, hvd -> fit(hvd, sgd()));

        assertThat(several).allSatisfy(each -> {
            assertClose(each.weights(), one.weights());
            assertThat(each.trainLoss()).isCloseTo(one.trainLoss(), within(1e-5f));
            assertThat(each.testLoss()).isCloseTo(one.testLoss(), within(1e-5f));
        });
        assertThat(several)
                .allSatisfy(each -> assertThat(each.testLoss())
                        .as("the same totals on all ranks")
                        .isEqualTo(several.get(0).testLoss()));
    }

    /** The first forward makes the parameters, whose first gradients would else be those of each rank's own values. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void aFitWithoutInitializeIsTheSame(int ranks) {
        Trained one = Hvd.spawn(1, hvd -> fit(hvd, sgd())).get(0);

        List<Trained> several = Hvd.spawn(ranks, hvd -> fit(hvd, sgd(), trainer -> {}));

        assertThat(several).allSatisfy(each -> assertClose(each.weights(), one.weights()));
    }

    /** DJL draws from one generator of the process, which each rank seeds; eight rounds, since ranks may come one after the other by chance. */
    @ParameterizedTest
    @ValueSource(ints = {2, 4})
    void ranksThatAreThreadsBeginWithTheWeightsThatOneRankDrawsByTheSeed(int ranks) throws Exception {
        Map<String, float[]> one = Hvd.spawn(1, DistributedTrainerTest::drawn).get(0);

        for (int round = 0; round < 8; round++) {
            assertThat(Hvd.spawn(ranks, DistributedTrainerTest::drawn)).allSatisfy(each -> assertClose(each, one));
        }
    }

    private static Map<String, float[]> drawn(HvdContext hvd) throws Exception {
        try (Model model = TinyTask.modelOfRandomWeights(hvd)) {
            Engine.getInstance().setRandomSeed(7);
            try (Trainer trainer = DistributedTrainer.of(hvd, model, TinyTask.config(sgd()))) {
                trainer.initialize(TinyTask.INPUT);
                return TinyTask.weights(model);
            }
        }
    }

    @Test
    void oneRankIsDjlsOwnTrainer() throws Exception {
        Trained one = Hvd.spawn(1, hvd -> fit(hvd, adam())).get(0);

        Map<String, float[]> plain = Hvd.spawn(1, hvd -> {
                    try (Model model = TinyTask.model(hvd, false);
                            Trainer trainer = model.newTrainer(TinyTask.config(adam()))) {
                        trainer.initialize(TinyTask.INPUT);
                        EasyTrain.fit(
                                trainer,
                                2,
                                TinyTask.data(model.getNDManager(), RankSampler.training(hvd, BATCH)),
                                null);
                        return TinyTask.weights(model);
                    }
                })
                .get(0);

        assertClose(one.weights(), plain);
    }

    private static void assertClose(Map<String, float[]> found, Map<String, float[]> expected) {
        assertThat(found.keySet()).isEqualTo(expected.keySet());
        expected.forEach((name, values) -> {
            for (int i = 0; i < values.length; i++) {
                assertThat(found.get(name)[i]).as(name + "[" + i + "]").isCloseTo(values[i], within(2e-5f));
            }
        });
    }

    private interface Body<T> {
        T run(DistributedTrainer trainer, HvdContext hvd) throws Exception;
    }

    private static <T> List<T> onTwo(boolean norm, Body<T> body) {
        return Hvd.spawn(2, hvd -> {
            try (Model model = TinyTask.model(hvd, norm);
                    DistributedTrainer trainer = DistributedTrainer.of(hvd, model, TinyTask.config(sgd()))) {
                trainer.initialize(TinyTask.INPUT);
                return body.run(trainer, hvd);
            }
        });
    }

    /** A backward over this rank's first samples, without a step. */
    private static float backward(Trainer trainer, HvdContext hvd) throws Exception {
        var manager = trainer.getManager();
        for (Batch batch : trainer.iterateDataset(TinyTask.data(manager, RankSampler.training(hvd, BATCH)))) {
            try (batch;
                    GradientCollector collector = trainer.newGradientCollector()) {
                NDArray loss = trainer.getLoss().evaluate(batch.getLabels(), trainer.forward(batch.getData()));
                collector.backward(loss);
                return loss.getFloat();
            }
        }
        throw new AssertionError("there is no batch");
    }

    private static float[] gradient(Trainer trainer) {
        try (NDArray gradient = trainer.getModel()
                .getBlock()
                .getParameters()
                .get(0)
                .getValue()
                .getArray()
                .getGradient()) {
            return gradient.toFloatArray();
        }
    }

    @Test
    void aLoopOfItsOwnMayAddUpSeveralBackwardsBeforeAStepAndSeesTheGradientsClearedAfterIt() {
        onTwo(false, (trainer, hvd) -> {
            backward(trainer, hvd);
            float[] once = gradient(trainer);
            backward(trainer, hvd);
            float[] twice = gradient(trainer);
            assertThat(twice[0]).isCloseTo(2 * once[0], within(1e-5f));
            trainer.step();
            assertThat(gradient(trainer)).containsOnly(0f);
            backward(trainer, hvd);
            trainer.step();
            assertThat(trainer.optimizer().lastStep().bytes()).isEqualTo(4 * (15 + 5 + 10 + 2));
            return null;
        });
    }

    @Test
    void allRanksBeginWithTheFirstOnesParametersAndHaveTheSameRunningMeansAfterAStep() {
        List<Map<String, float[]>> after = onTwo(true, (trainer, hvd) -> {
            backward(trainer, hvd);
            trainer.step();
            return TinyTask.weights(trainer.getModel());
        });

        assertThat(after.get(1).get("03BatchNorm_runningMean"))
                .containsExactly(after.get(0).get("03BatchNorm_runningMean"))
                .isNotEqualTo(new float[5]);
        after.get(0)
                .forEach((name, values) -> assertThat(after.get(1).get(name)).containsExactly(values));
    }

    @Test
    void theExchangeTakesTheOptimizersSettings() {
        List<Double> norms = Hvd.spawn(2, hvd -> {
            try (Model model = TinyTask.model(hvd, false);
                    DistributedTrainer trainer = DistributedTrainer.of(
                            hvd,
                            model,
                            TinyTask.config(sgd()),
                            exchange -> exchange.compression(Compression.FP16).clipGradientNorm(1e-3))) {
                trainer.initialize(TinyTask.INPUT);
                backward(trainer, hvd);
                trainer.step();
                return trainer.optimizer().lastGradientNorm();
            }
        });

        assertThat(norms.get(0)).isEqualTo(norms.get(1)).isGreaterThan(1e-3);
    }

    @Test
    void aStepWithoutABackwardIsRefused() {
        onTwo(false, (trainer, hvd) -> {
            backward(trainer, hvd);
            trainer.step();
            assertThatThrownBy(trainer::step)
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("step() without a backward", "newGradientCollector")
                    .extracting("id")
                    .isEqualTo(ErrorId.OPTIMIZER_MISUSE);
            return null;
        });
    }

    @Test
    void ranksWithDifferentOptimizersAreNamedBeforeAParameterHasChanged() {
        Hvd.spawn(2, hvd -> {
            var optimizer = Optimizer.sgd()
                    .setLearningRateTracker(Tracker.fixed(0.1f))
                    .optMomentum(0.5f + 0.25f * hvd.rank())
                    .build();
            try (Model model = TinyTask.model(hvd, false);
                    DistributedTrainer trainer = DistributedTrainer.of(hvd, model, TinyTask.config(optimizer))) {
                trainer.initialize(TinyTask.INPUT);
                Map<String, float[]> before = TinyTask.weights(model);
                backward(trainer, hvd);
                assertThatThrownBy(trainer::step)
                        .isInstanceOf(HvdException.class)
                        .hasMessageContainingAll("momentum", "0.5", "0.75");
                TinyTask.weights(model)
                        .forEach((name, values) -> assertThat(values).containsExactly(before.get(name)));
            }
            return null;
        });
    }

    @Test
    void trackersThatGiveOtherRatesOnAnotherRankAreRefusedOnAllRanksInThatStep() {
        Hvd.spawn(2, hvd -> {
            Tracker ofThisRank = update -> update < 2 ? 0.1f : 0.1f / (1 + hvd.rank());
            var optimizer = Optimizer.sgd().setLearningRateTracker(ofThisRank).build();
            try (Model model = TinyTask.model(hvd, false);
                    DistributedTrainer trainer = DistributedTrainer.of(hvd, model, TinyTask.config(optimizer))) {
                trainer.initialize(TinyTask.INPUT);
                backward(trainer, hvd);
                trainer.step();
                backward(trainer, hvd);
                assertThatThrownBy(trainer::step)
                        .isInstanceOf(HvdException.class)
                        .hasMessageContainingAll("learning rates of the next step", "0.05", "0.1")
                        .extracting("id")
                        .isEqualTo(ErrorId.DIFFERENT_SETTINGS);
            }
            return null;
        });
    }

    @Test
    void aTrainingGoesOnFromASavedModelAndStateOfTheOptimizer() throws Exception {
        for (UnaryOperator<Optimizer> kind : List.<UnaryOperator<Optimizer>>of(ignored -> sgd(), ignored -> adam())) {
            List<Map<String, float[]>> whole = Hvd.spawn(2, hvd -> steps(hvd, kind.apply(null), 4, null));
            NamedState[] state = new NamedState[1];
            List<Map<String, float[]>> half = Hvd.spawn(2, hvd -> steps(hvd, kind.apply(null), 2, state));
            List<Map<String, float[]>> resumed =
                    Hvd.spawn(2, hvd -> resumed(hvd, kind.apply(null), half.get(0), state[0]));

            whole.get(0)
                    .forEach((name, values) ->
                            assertThat(resumed.get(1).get(name)).as(name).containsExactly(values));
        }
    }

    private static Map<String, float[]> steps(HvdContext hvd, Optimizer optimizer, int steps, NamedState[] state)
            throws Exception {
        try (Model model = TinyTask.model(hvd, false);
                DistributedTrainer trainer = DistributedTrainer.of(hvd, model, TinyTask.config(optimizer))) {
            trainer.initialize(TinyTask.INPUT);
            for (int i = 0; i < steps; i++) {
                backward(trainer, hvd);
                trainer.step();
            }
            if (state != null && hvd.rank() == 0) {
                state[0] = trainer.optimizerState();
            }
            return TinyTask.weights(model);
        }
    }

    private static Map<String, float[]> resumed(
            HvdContext hvd, Optimizer optimizer, Map<String, float[]> weights, NamedState state) throws Exception {
        try (Model model = TinyTask.model(hvd, false);
                DistributedTrainer trainer = DistributedTrainer.of(hvd, model, TinyTask.config(optimizer))) {
            trainer.initialize(TinyTask.INPUT);
            model.getBlock()
                    .getParameters()
                    .forEach(pair -> pair.getValue().getArray().set(weights.get(pair.getKey())));
            trainer.loadOptimizerState(hvd.rank() == 0 ? state : null);
            for (int i = 0; i < 2; i++) {
                backward(trainer, hvd);
                trainer.step();
            }
            return TinyTask.weights(model);
        }
    }

    @Test
    void aStateOfAnotherOptimizerIsRefused() {
        onTwo(false, (trainer, hvd) -> {
            byte[] other = new byte[] {0, 1, 'x', 0, 0, 0, 0};
            assertThatThrownBy(() -> trainer.loadOptimizerState(NamedState.ofBytes(other)))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("does not fit", "\"x\"", "Sgd", "01Linear_weight");
            return null;
        });
    }

    @Test
    void aDamagedStateIsRefusedAndTheTrainingGoesOn() {
        onTwo(false, (trainer, hvd) -> {
            backward(trainer, hvd);
            trainer.step();
            byte[] state = trainer.optimizer().saveState();
            for (int length = 0; length < state.length; length += 23) {
                refused(trainer, Arrays.copyOf(state, length), "does not fit");
            }
            refused(trainer, Arrays.copyOf(state, state.length + 1), "1 bytes are left");
            NamedState before = trainer.optimizerState();
            backward(trainer, hvd);
            trainer.step();
            assertThat(trainer.optimizer().saveState()).isNotEqualTo(state);
            trainer.loadOptimizerState(NamedState.ofBytes(state));
            assertThat(trainer.optimizer().saveState()).isEqualTo(state);
            refusesNames(trainer, before);
            backward(trainer, hvd);
            trainer.step();
            return null;
        });
    }

    private static void refusesNames(DistributedTrainer trainer, NamedState state) {
        String name = "momentumStates.01Linear_weight";
        assertThat(state.tensors()).containsKey(name);
        SortedMap<String, io.hvd.tensor.Tensor> tensors = new TreeMap<>(state.tensors());
        SortedMap<String, String> words = new TreeMap<>(state.words());
        NamedState other = new NamedState(tensors, words);
        tensors.put("means.01Linear_weight", io.hvd.tensor.Tensor.of(1f));
        refused(trainer, other, "means.01Linear_weight", "momentumStates");
        tensors.remove("means.01Linear_weight");
        tensors.put(name, io.hvd.tensor.Tensor.of(1f));
        refused(trainer, other, name, "float32[1]");
        tensors.remove(name);
        refused(trainer, other, name, "missing");
        words.put(NamedState.KIND, "Adam");
        refused(trainer, other, "Adam", "Sgd");
    }

    private static void refused(DistributedTrainer trainer, byte[] state, String... facts) {
        refused(trainer, NamedState.ofBytes(state), facts);
    }

    private static void refused(DistributedTrainer trainer, NamedState state, String... facts) {
        assertThatThrownBy(() -> trainer.loadOptimizerState(state))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                .hasMessageContainingAll(facts);
    }

    /** 65,535 bytes are what Java's UTF has room for. */
    @Test
    void aStateHasRoomForTheNamesOfManyParameters() throws Exception {
        Hvd.spawn(1, hvd -> {
            try (Model model = TinyTask.deepModel(hvd, 1500);
                    DistributedTrainer trainer = DistributedTrainer.of(hvd, model, TinyTask.config(sgd()))) {
                trainer.initialize(new Shape(1, 1));
                byte[] state = ElasticModel.of(model, TinyTask.config(sgd()))
                        .optimizer()
                        .saveState();
                assertThat(state.length).isGreaterThan(65_535);
                trainer.loadOptimizerState(NamedState.ofBytes(state));
            }
            return null;
        });
    }

    @Test
    void aBlockThatStandsTwiceInTheNetIsOne() {
        List<Map<String, float[]>> weights = Hvd.spawn(2, hvd -> {
            try (Model model = TinyTask.tiedModel(hvd);
                    DistributedTrainer trainer = DistributedTrainer.of(hvd, model, TinyTask.config(sgd()))) {
                trainer.initialize(TinyTask.INPUT);
                for (int i = 0; i < 3; i++) {
                    backward(trainer, hvd);
                    trainer.step();
                    trainer.loadOptimizerState(trainer.optimizerState());
                }
                assertThat(trainer.optimizer().parameters())
                        .extracting(io.hvd.optimizer.Parameter::name)
                        .containsExactly("01Linear_weight", "01Linear_bias", "03Linear_weight", "03Linear_bias");
                return TinyTask.weights(model);
            }
        });
        weights.get(0)
                .forEach((name, values) ->
                        assertThat(weights.get(1).get(name)).as(name).containsExactly(values));
        assertThat(weights.get(0).get("02Linear_weight"))
                .containsExactly(weights.get(0).get("01Linear_weight"));
    }

    @Test
    void severalDevicesAreRefused() {
        Hvd.spawn(1, hvd -> {
            try (Model model = TinyTask.model(hvd, false)) {
                var config = TinyTask.config(sgd()).optDevices(new Device[] {Device.gpu(0), Device.gpu(1)});
                assertThatThrownBy(() -> DistributedTrainer.of(hvd, model, config))
                        .isInstanceOf(HvdException.class)
                        .hasMessageContainingAll("gpu(0)", "gpu(1)", "expected cpu()");
            }
            return null;
        });
    }

    @Test
    void aForwardThatIsTheFirstCallOfAnInitialisedBlockBroadcastsToo() {
        List<Map<String, float[]>> weights = Hvd.spawn(2, hvd -> {
            try (Model model = TinyTask.model(hvd, false);
                    DistributedTrainer trainer = DistributedTrainer.of(hvd, model, TinyTask.config(sgd()))) {
                model.getBlock().initialize(model.getNDManager(), model.getDataType(), TinyTask.INPUT);
                trainer.forward(new NDList(trainer.getManager().ones(TinyTask.INPUT)));
                return TinyTask.weights(model);
            }
        });

        weights.get(0)
                .forEach((name, values) -> assertThat(weights.get(1).get(name)).containsExactly(values));
    }

    /** A rank that is a thread must not have its turn in the engine while the ranks that it broadcasts to wait for theirs. */
    @Test
    void aLoopThatBeginsWithACollectorOfAnInitialisedBlockBroadcastsToo() {
        List<Map<String, float[]>> weights = Hvd.spawn(2, hvd -> {
            try (Model model = TinyTask.model(hvd, false);
                    DistributedTrainer trainer = DistributedTrainer.of(hvd, model, TinyTask.config(sgd()))) {
                model.getBlock().initialize(model.getNDManager(), model.getDataType(), TinyTask.INPUT);
                backward(trainer, hvd);
                trainer.step();
                return TinyTask.weights(model);
            }
        });

        assertClose(weights.get(1), weights.get(0));
    }
}
