package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Reference.assertClose;
import static io.hvd.optimizer.torch.Reference.floatsOf;
import static io.hvd.optimizer.torch.Reference.hex;
import static io.hvd.optimizer.torch.Reference.meanOfShare;
import static io.hvd.optimizer.torch.Reference.read;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.optimizer.reduce.PowerSgd;
import io.hvd.optimizer.reduce.TopK;
import io.hvd.tensor.DType;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.train.AreaUnderCurve;
import io.hvd.train.Checkpoint;
import io.hvd.train.ClassScores;
import io.hvd.train.ConfusionMatrix;
import io.hvd.train.MeanMetric;
import io.hvd.train.SoftDice;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What numpy and scikit-learn make of the values of all ranks, beside hvd's results on 1, 2 and 4 ranks, which are threads, and the
 * bits of 16-bit floats and of a file that Python has written. {@code make_reference.py} has made the values.
 */
@Tag("long")
@Timeout(120)
class NumpyReferenceTest {
    /** Sums of a few numbers in other orders; halves are rounded once by Python and after each sum by some ways of hvd. */
    private static final Map<DType, Double> TOLERANCES =
            Map.of(DType.FLOAT64, 1e-12, DType.FLOAT32, 1e-5, DType.FLOAT16, 4e-3, DType.BFLOAT16, 3e-2);

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 4})
    void everyReductionOfEveryTypeIsNumpys(int ranks) {
        for (JsonElement element : read("collectives").getAsJsonArray()) {
            JsonObject wanted = element.getAsJsonObject();
            DType type = DType.valueOf(wanted.get("dtype").getAsString().toUpperCase(Locale.ROOT));
            JsonObject results = wanted.getAsJsonObject("results").getAsJsonObject(String.valueOf(ranks));
            Hvd.spawn(ranks, hvd -> {
                for (String op : results.keySet()) {
                    Tensor mine = tensor(wanted.getAsJsonArray("parts").get(hvd.rank()), type);
                    Tensor reduced = hvd.allreduce(type + op, mine, AllreduceOptions.of(ReduceOp.valueOf(op)));
                    assertAlike(type + " " + op, reduced, tensor(results.get(op), type));
                }
                return null;
            });
        }
    }

    private static Tensor tensor(JsonElement hexadecimal, DType type) {
        ByteBuffer bytes = hex(hexadecimal);
        ByteBuffer direct = ByteBuffer.allocateDirect(bytes.remaining()).order(ByteOrder.nativeOrder());
        direct.put(bytes).flip(); // the order of this machine is that of the file, as hvd runs on no other
        return Tensor.wrap(direct, type, Shape.of(direct.remaining() / type.bytes()));
    }

    private static void assertAlike(String what, Tensor found, Tensor wanted) {
        if (!found.dtype().isFloating()) {
            assertThat(found.toArray()).as(what).isEqualTo(wanted.toArray());
        } else if (found.dtype() == DType.FLOAT64) {
            double[] exact = (double[]) wanted.toArray();
            for (int i = 0; i < exact.length; i++) {
                assertThat(((double[]) found.toArray())[i])
                        .as(what)
                        .isCloseTo(exact[i], within(1e-12 * Math.max(1, Math.abs(exact[i]))));
            }
        } else {
            assertClose(what, found.toFloatArray(), wanted.toFloatArray(), TOLERANCES.get(found.dtype()));
        }
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 4})
    void metricsAreThoseOfAllSamples(int ranks) {
        JsonObject wanted = read("metrics").getAsJsonObject();
        int classes = wanted.get("classes").getAsInt();
        float[] allScores = floatsOf(wanted.get("scores"));
        float[] probabilities = floatsOf(wanted.get("probability"));
        float[] losses = floatsOf(wanted.get("losses"));
        long[] allLabels = longs(wanted.get("labels"));
        Hvd.spawn(ranks, hvd -> {
            int share = allLabels.length / hvd.size();
            int from = hvd.rank() * share;
            long[] labels = Arrays.copyOfRange(allLabels, from, from + share);
            ClassScores scores =
                    new ClassScores(Arrays.copyOfRange(allScores, from * classes, (from + share) * classes), classes);
            ConfusionMatrix confusion = new ConfusionMatrix("confusion", classes);
            confusion.add(scores, labels);
            ConfusionMatrix.Result result = confusion.reduce(hvd);
            assertThat(result.counts()).containsExactly(longs(wanted.get("confusion")));
            assertThat(result.accuracy()).isCloseTo(wanted.get("accuracy").getAsDouble(), within(1e-12));
            for (int of = 0; of < classes; of++) {
                assertThat(result.precision(of)).isCloseTo(number(wanted, "precision", of), within(1e-12));
                assertThat(result.recall(of)).isCloseTo(number(wanted, "recall", of), within(1e-12));
                assertThat(result.dice(of)).isCloseTo(number(wanted, "f1", of), within(1e-12));
                assertThat(result.iou(of)).isCloseTo(number(wanted, "jaccard", of), within(1e-12));
            }
            MeanMetric top3 = new MeanMetric("top3");
            top3.add(scores.hits(3, labels), share);
            assertThat(top3.reduce(hvd).mean()).isCloseTo(wanted.get("top3").getAsDouble(), within(1e-12));
            MeanMetric loss = new MeanMetric("loss");
            AreaUnderCurve area = new AreaUnderCurve("area");
            SoftDice dice = new SoftDice("dice");
            for (int i = from; i < from + share; i++) {
                boolean positive = allLabels[i] == 2;
                loss.add(losses[i], 1);
                area.add(allScores[i * classes + 2], positive);
                dice.add(new float[] {probabilities[i]}, new float[] {positive ? 1 : 0});
            }
            MeanMetric.Result mean = loss.reduce(hvd);
            assertThat(mean.mean()).isCloseTo(wanted.get("loss").getAsDouble(), within(1e-9));
            assertThat(mean.perplexity()).isCloseTo(wanted.get("perplexity").getAsDouble(), within(1e-8));
            assertThat(area.reduce(hvd).area()).isCloseTo(wanted.get("auc").getAsDouble(), within(1e-12));
            assertThat(dice.reduce(hvd)).isCloseTo(wanted.get("softDice").getAsDouble(), within(1e-9));
            return null;
        });
    }

    private static double number(JsonObject of, String field, int at) {
        return of.getAsJsonArray(field).get(at).getAsDouble();
    }

    private static long[] longs(JsonElement array) {
        return array.getAsJsonArray().asList().stream()
                .mapToLong(JsonElement::getAsLong)
                .toArray();
    }

    @Test
    void floatsAreRoundedTo16BitsAsTorchDoes() {
        JsonObject wanted = read("halves").getAsJsonObject();
        ByteBuffer bits = hex(wanted.get("bits"));
        ByteBuffer halves = hex(wanted.get("float16"));
        ByteBuffer brains = hex(wanted.get("bfloat16"));
        while (bits.hasRemaining()) {
            float value = bits.getFloat();
            short half = halves.getShort();
            short brain = brains.getShort();
            if (Float.isNaN(value)) { // the bits of a NaN are free
                assertThat(HalfFloat.fromFloat16(HalfFloat.toFloat16(value))).isNaN();
                assertThat(HalfFloat.fromBfloat16(HalfFloat.toBfloat16(value))).isNaN();
            } else {
                assertThat(HalfFloat.toFloat16(value))
                        .as("float16 of %s", value)
                        .isEqualTo(half);
                assertThat(HalfFloat.toBfloat16(value))
                        .as("bfloat16 of %s", value)
                        .isEqualTo(brain);
            }
        }
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {2, 4})
    void topKSendsAndKeepsWhatNumpySays(int ranks) {
        JsonObject wanted = read("reducers").getAsJsonObject().getAsJsonObject("topK");
        JsonArray course = wanted.getAsJsonObject("courses").getAsJsonArray(String.valueOf(ranks));
        Hvd.spawn(ranks, hvd -> {
            float[] gradient = new float[floatsOf(course.get(0)).length];
            DistributedOptimizer optimizer = optimizer(
                    gradient,
                    Shape.of(gradient.length),
                    new TopK(wanted.get("fraction").getAsDouble()));
            for (int step = 0; step < course.size(); step++) {
                meanOfShare(hvd, wanted.getAsJsonArray("parts").get(step).getAsJsonArray(), "", gradient);
                optimizer.step();
                assertClose("step " + step, gradient, floatsOf(course.get(step)), 1e-6);
            }
            return null;
        });
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {2, 4})
    void powerSgdFindsTheBestMatrixOfItsRank(int ranks) {
        JsonObject wanted = read("reducers").getAsJsonObject().getAsJsonObject("lowRank");
        int rank = wanted.get("rank").getAsInt();
        Hvd.spawn(ranks, hvd -> {
            Shape shape = Shape.of(
                    wanted.get("rows").getAsInt(), wanted.get("columns").getAsInt());
            float[] gradient = new float[(int) shape.elements()];
            PowerSgd.Settings settings = new PowerSgd.Settings(rank, 0, 1, false, true, 0, 7);
            DistributedOptimizer optimizer = optimizer(gradient, shape, new PowerSgd(settings));
            for (int step = 0; step < 20; step++) {
                meanOfShare(hvd, wanted.getAsJsonArray("parts"), "", gradient);
                optimizer.step();
            }
            assertClose("product", gradient, floatsOf(wanted.get("best")), 1e-5);
            return null;
        });
    }

    private static DistributedOptimizer optimizer(float[] gradient, Shape shape, GradientReducer reducer) {
        ArrayParameters parameters = new ArrayParameters().add("w", new float[gradient.length], gradient, shape);
        DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Sgd(parameters, 0.1))
                .reducer(reducer)
                .build();
        optimizer.broadcastParameters(0);
        return optimizer;
    }

    @Test
    void aFileThatPythonWroteHasItsValuesInEveryType(@TempDir Path folder) throws Exception {
        Path file = Files.write(folder.resolve("a.safetensors"), Reference.bytes("reference.safetensors"));
        JsonObject wanted = read("safetensors").getAsJsonObject();

        Checkpoint checkpoint = Checkpoint.read(file);

        assertThat(checkpoint.metadata()).containsEntry("e", "caf\u00e9");
        assertThat(checkpoint.tensors().keySet()).isEqualTo(wanted.keySet());
        Path again = folder.resolve("b.safetensors");
        checkpoint.write(again);
        for (Map<String, Tensor> tensors :
                List.of(checkpoint.tensors(), Checkpoint.read(again).tensors())) {
            tensors.forEach((name, tensor) -> {
                JsonObject one = wanted.getAsJsonObject(name);
                assertThat(LongStream.range(0, tensor.shape().rank())
                                .map(i -> tensor.shape().dim((int) i))
                                .toArray())
                        .as(name)
                        .containsExactly(longs(one.get("shape")));
                assertThat(tensor.toArray())
                        .as(name)
                        .isEqualTo(tensor(one.get("bytes"), tensor.dtype()).toArray());
            });
        }
    }
}
