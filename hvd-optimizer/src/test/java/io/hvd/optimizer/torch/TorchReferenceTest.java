package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Models.floats;
import static io.hvd.optimizer.torch.Reference.assertClose;
import static io.hvd.optimizer.torch.Reference.floatsOf;
import static io.hvd.optimizer.torch.Reference.read;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.data.Sampler;
import io.hvd.optimizer.Adadelta;
import io.hvd.optimizer.Adagrad;
import io.hvd.optimizer.Adam;
import io.hvd.optimizer.AdamW;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.GradScaler;
import io.hvd.optimizer.Lamb;
import io.hvd.optimizer.Lars;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.RmsProp;
import io.hvd.optimizer.Sgd;
import io.hvd.train.Goal;
import io.hvd.train.MeanMetric;
import io.hvd.train.Plateau;
import io.hvd.train.Schedule;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What torch in Python makes of the same start and the same gradients, beside hvd's results on 1, 2 and 4 ranks, which are threads.
 * {@code make_reference.py} has made the values.
 */
@Tag("long")
@Timeout(120)
class TorchReferenceTest {
    private static final Map<String, Function<ArrayParameters, Optimizer>> OPTIMIZERS = Map.ofEntries(
            Map.entry("sgd", of -> new Sgd(of, 0.1)),
            Map.entry("sgd momentum 0.9 decay 0.01", of -> new Sgd(of, 0.1, 0.9, 0.01)),
            Map.entry("sgd nesterov 0.9 decay 0.01", of -> Sgd.nesterov(of, 0.1, 0.9, 0.01)),
            Map.entry("adam", of -> new Adam(of, 0.01)),
            Map.entry("adam 0.8 0.95 1e-3", of -> new Adam(of, 0.01, 0.8, 0.95, 1e-3)),
            Map.entry("adamw", of -> new AdamW(of, 0.01)),
            Map.entry("adamw 0.8 0.95 1e-3 decay 0.1", of -> new AdamW(of, 0.01, 0.8, 0.95, 1e-3, 0.1)),
            Map.entry("rmsprop", of -> new RmsProp(of, 0.01)),
            Map.entry("rmsprop 0.9 1e-6 momentum 0.8 decay 0.01", of -> new RmsProp(of, 0.01, 0.9, 1e-6, 0.8, 0.01)),
            Map.entry("adagrad", of -> new Adagrad(of, 0.1)),
            Map.entry("adagrad 0.1 decay 0.01 1e-6", of -> new Adagrad(of, 0.1, 0.1, 0.01, 1e-6)),
            Map.entry("adadelta", of -> new Adadelta(of, 1)),
            Map.entry("adadelta 0.8 1e-4 decay 0.01", of -> new Adadelta(of, 0.5, 0.8, 1e-4, 0.01)),
            Map.entry("lamb", of -> new Lamb(of, 0.01)),
            Map.entry("lars", of -> new Lars(of, 1)));

    /** A training of the two parameters on one rank. */
    private static final class Course {
        final JsonObject values = read("optimizers").getAsJsonObject();
        final float[] w = floatsOf(values.getAsJsonObject("start").get("w"));
        final float[] b = floatsOf(values.getAsJsonObject("start").get("b"));
        final float[] ofW = new float[w.length];
        final float[] ofB = new float[b.length];
        final DistributedOptimizer optimizer;

        Course(Function<ArrayParameters, Optimizer> inner, UnaryOperator<DistributedOptimizerBuilder> settings) {
            Optimizer made = inner.apply(new ArrayParameters().add("w", w, ofW).add("b", b, ofB));
            optimizer = settings.apply(DistributedOptimizer.wrap(made)).build();
            optimizer.broadcastParameters(0);
        }

        /** This rank's share of the gradients of a step, averaged. */
        void backward(HvdContext hvd, int step) {
            JsonArray parts = values.getAsJsonArray("gradients").get(step).getAsJsonArray();
            Reference.meanOfShare(hvd, parts, "w", ofW);
            Reference.meanOfShare(hvd, parts, "b", ofB);
        }
    }

    static Stream<Arguments> optimizersByRanks() {
        return OPTIMIZERS.keySet().stream()
                .sorted()
                .flatMap(name -> Stream.of(1, 2, 4).map(ranks -> Arguments.of(name, ranks)));
    }

    @Test
    void everyOptimizerOfTheFileIsCompared() {
        assertThat(read("optimizers")
                        .getAsJsonObject()
                        .getAsJsonObject("courses")
                        .keySet())
                .isEqualTo(OPTIMIZERS.keySet());
    }

    @ParameterizedTest(name = "{0} on {1} ranks")
    @MethodSource("optimizersByRanks")
    void anOptimizerTakesTorchsSteps(String name, int ranks) {
        Hvd.spawn(ranks, hvd -> {
            Course course = new Course(OPTIMIZERS.get(name), builder -> builder);
            JsonObject wanted = course.values.getAsJsonObject("courses").getAsJsonObject(name);
            double rate = wanted.get("rate").getAsDouble();
            JsonArray steps = wanted.getAsJsonArray("course");
            for (int step = 0; step < steps.size(); step++) {
                course.optimizer.learningRate(step < 4 ? rate : rate / 10);
                course.backward(hvd, step);
                course.optimizer.step();
                JsonObject after = steps.get(step).getAsJsonObject();
                assertClose(name + " w after step " + step, course.w, floatsOf(after.get("w")), 3e-6);
                assertClose(name + " b after step " + step, course.b, floatsOf(after.get("b")), 3e-6);
            }
            return null;
        });
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 4})
    void gradientsAreClippedAsTorchDoes(int ranks) {
        JsonObject clipping = read("clipping").getAsJsonObject();
        for (JsonElement element : clipping.getAsJsonArray("cases")) {
            JsonObject wanted = element.getAsJsonObject();
            double limit = wanted.get("limit").getAsDouble();
            boolean byNorm = wanted.get("kind").getAsString().equals("norm");
            Hvd.spawn(ranks, hvd -> {
                Course course = new Course(
                        of -> new Sgd(of, 1),
                        builder -> byNorm ? builder.clipGradientNorm(limit) : builder.clipGradientValue(limit));
                course.backward(hvd, clipping.get("step").getAsInt());
                course.optimizer.step();
                JsonObject gradients = wanted.getAsJsonObject("gradients");
                assertClose(wanted + " w", course.ofW, floatsOf(gradients.get("w")), 2e-6);
                assertClose(wanted + " b", course.ofB, floatsOf(gradients.get("b")), 2e-6);
                if (byNorm) {
                    assertThat(course.optimizer.lastGradientNorm())
                            .isCloseTo(wanted.get("norm").getAsDouble(), within(1e-6));
                }
                return null;
            });
        }
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 4})
    void aScaleGrowsAndShrinksByTorchsRules(int ranks) {
        JsonObject wanted = read("scaler").getAsJsonObject();
        JsonArray overflows = wanted.getAsJsonArray("overflows");
        Hvd.spawn(ranks, hvd -> {
            GradScaler scaler = GradScaler.builder()
                    .initScale(1024)
                    .growthFactor(4)
                    .backoffFactor(0.25)
                    .growthInterval(3)
                    .build();
            float[] weight = {0};
            float[] gradient = {0};
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("w", weight, gradient), 1))
                    .build();
            optimizer.broadcastParameters(0);
            for (int step = 0; step < overflows.size(); step++) {
                boolean overflow = overflows.get(step).getAsInt() == 1;
                boolean here = overflow && step % hvd.size() == hvd.rank(); // another rank each time
                gradient[0] = here ? Float.POSITIVE_INFINITY : (float) scaler.scale(0.5);
                if (here) {
                    scaler.scale(0.5);
                }
                assertThat(scaler.step(optimizer)).isEqualTo(!overflow);
                scaler.update();
                JsonArray after = wanted.getAsJsonArray("course").get(step).getAsJsonArray();
                assertThat(scaler.scale()).isEqualTo(after.get(0).getAsDouble());
                assertThat(scaler.growthTracker()).isEqualTo(after.get(1).getAsInt());
            }
            return null;
        });
    }

    @Test
    void learningRatesAreThoseOfTorchsSchedules() {
        Map<String, Schedule> schedules = Map.of(
                "step", Schedule.step(0.4, 0.5, 3),
                "exponential", Schedule.factor(0.4, 0.9),
                "multistep", Schedule.multiFactor(0.4, 0.1, 2, 5, 11),
                "cosine", Schedule.cosine(0.4, 0.01, 12),
                "polynomial", Schedule.polynomial(0.4, 0, 10, 2.5),
                "linear", Schedule.linear(0.1, 0.4, 8),
                "cyclic", Schedule.cyclical(0.1, 0.4, 4),
                "cyclic uneven", Schedule.cyclical(0.1, 0.4, 2, 6, 1),
                "cyclic triangular2", Schedule.cyclical(0.1, 0.4, 3, 3, 0.5),
                "sequential", Schedule.linear(0.1, 0.4, 5).then(5, Schedule.factor(0.4, 0.5)));
        JsonObject wanted = read("schedules").getAsJsonObject();
        schedules.forEach((name, schedule) -> {
            JsonArray rates = wanted.getAsJsonArray(name);
            for (int epoch = 0; epoch < rates.size(); epoch++) {
                assertThat(schedule.rate(epoch))
                        .as("%s in epoch %d", name, epoch)
                        .isCloseTo(rates.get(epoch).getAsDouble(), within(1e-9));
            }
        });
        assertThat(wanted.size()).as("schedules, and the plateau").isEqualTo(schedules.size() + 1);
    }

    @Test
    void aPlateauLowersTheRateInTorchsEpochs() {
        JsonObject wanted = read("schedules").getAsJsonObject().getAsJsonObject("plateau");
        Plateau plateau = new Plateau(Goal.smallest("loss").by(0.01), 0.5, 2, 0.2);
        float[] losses = floatsOf(wanted.get("losses"));
        for (int epoch = 0; epoch < losses.length; epoch++) {
            double loss = wanted.getAsJsonArray("losses").get(epoch).getAsDouble();
            assertThat(0.4 * plateau.factorAfter(new MeanMetric.Result(loss, 1)))
                    .as("epoch %d", epoch)
                    .isCloseTo(wanted.getAsJsonArray("rates").get(epoch).getAsDouble(), within(1e-12));
        }
    }

    @Test
    void samplesWithoutShufflingGoToTorchsRanks() {
        for (JsonElement element : read("samplers").getAsJsonArray()) {
            JsonObject wanted = element.getAsJsonObject();
            JsonArray deals = wanted.getAsJsonArray("deals");
            for (int rank = 0; rank < deals.size(); rank++) {
                Sampler sampler = DistributedSampler.builder(wanted.get("size").getAsInt(), deals.size(), rank)
                        .shuffle(false)
                        .dropLast(wanted.get("dropLast").getAsBoolean())
                        .build();
                List<Integer> mine = deals.get(rank).getAsJsonArray().asList().stream()
                        .map(JsonElement::getAsInt)
                        .toList();
                assertThat(sampler.indices())
                        .as("%s, rank %d", wanted, rank)
                        .containsExactly(mine.stream().mapToInt(i -> i).toArray());
                assertThat(sampler.length()).isEqualTo(mine.size());
            }
        }
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 4})
    void aBatchNormOverAllRanksIsTorchsOverTheWholeBatch(int ranks) {
        TorchRuntime.prepare();
        JsonObject wanted = read("batchnorm").getAsJsonObject();
        Hvd.spawn(ranks, hvd -> {
            try (PointerScope scope = new PointerScope()) {
                NormCourse.play(hvd, wanted);
            }
            return null;
        });
    }

    /** The steps of a batch norm on one rank. */
    private record NormCourse(HvdContext hvd, SyncBatchNorm2d layer, long[] shape, int share) {
        static void play(HvdContext hvd, JsonObject wanted) {
            int features = wanted.get("features").getAsInt();
            BatchNormOptions options = new BatchNormOptions(features);
            options.eps().put(1e-3);
            options.momentum().put(new DoubleOptional(0.2));
            int share = wanted.get("batch").getAsInt() / hvd.size();
            long[] shape = {
                share,
                features,
                wanted.get("rows").getAsInt(),
                wanted.get("columns").getAsInt()
            };
            NormCourse course = new NormCourse(hvd, new SyncBatchNorm2d(hvd, "norm", options), shape, share);
            course.begin(0.5f, 1.5f, -1);
            Tensor x = null;
            for (JsonElement step : wanted.getAsJsonArray("steps")) {
                x = course.step(step.getAsJsonObject());
            }
            course.layer.train(false);
            try (NoGradGuard guard = new NoGradGuard()) {
                assertClose("evaluated", floats(course.layer.forward(x)), course.own(wanted.get("evaluated")), 1e-5);
            }
        }

        private void begin(float... weights) {
            try (NoGradGuard guard = new NoGradGuard()) {
                layer.weight().copy_(Tensor.create(weights));
                layer.bias().copy_(Tensor.create(1f, 0, -2));
            }
        }

        private Tensor step(JsonObject wanted) {
            layer.zero_grad(true);
            Tensor x = Tensor.create(own(wanted.get("x")), shape);
            x.requires_grad_(true);
            Tensor y = layer.forward(x);
            y.backward(
                    Tensor.create(own(wanted.get("outer")), shape),
                    new BoolOptional(false),
                    false,
                    new TensorArrayRefOptional());
            assertClose("y", floats(y.detach()), own(wanted.get("y")), 1e-4);
            assertClose("dx", floats(x.grad()), own(wanted.get("dx")), 1e-4);
            assertClose("dweight", summed("dweight", layer.weight().grad()), floatsOf(wanted.get("dweight")), 1e-4);
            assertClose("dbias", summed("dbias", layer.bias().grad()), floatsOf(wanted.get("dbias")), 1e-5);
            assertClose("mean", floats(layer.running_mean()), floatsOf(wanted.get("mean")), 1e-6);
            assertClose("var", floats(layer.running_var()), floatsOf(wanted.get("var")), 1e-4);
            return x;
        }

        /** This rank's share of a batch. */
        private float[] own(JsonElement batch) {
            float[] all = floatsOf(batch);
            int length = all.length / hvd.size();
            return Arrays.copyOfRange(all, hvd.rank() * length, (hvd.rank() + 1) * length);
        }

        private float[] summed(String name, Tensor tensor) {
            return hvd.allreduce(name, io.hvd.tensor.Tensor.of(floats(tensor)), AllreduceOptions.sum())
                    .toFloatArray();
        }
    }
}
