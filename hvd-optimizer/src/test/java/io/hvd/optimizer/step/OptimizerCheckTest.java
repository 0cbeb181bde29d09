package io.hvd.optimizer.step;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.Sgd;
import io.hvd.optimizer.reduce.Int8;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is refused when a distributed optimizer is made. */
class OptimizerCheckTest {
    @Test
    void anOptimizerWithoutParametersIsRefused() {
        refused(() -> OptimizerCheck.requireUsable(List.of()), "no parameters");
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", "  "})
    void aParameterWithoutANameIsRefusedWithItsPlaceAndShape(String name) {
        refused(
                () -> OptimizerCheck.requireUsable(List.of(parameter("first", 2, 2), parameter(name, 7, 7))),
                "parameter 1",
                "float32[7]",
                "no name");
    }

    @Test
    void aNameThatIsGivenTwiceIsRefused() {
        refused(
                () -> OptimizerCheck.requireUsable(
                        List.of(parameter("w", 2, 2), parameter("b", 1, 1), parameter("w", 3, 3))),
                "\"w\"",
                "two parameters");
    }

    @Test
    void anArrayThatIsAddedTwiceIsRefusedWithBothNames() {
        float[] w = {1, 2};
        float[] gradient = {3, 4};
        var tied = new ArrayParameters().add("encoder", w, gradient);
        refused(
                () -> tied.add("decoder", w, new float[2]),
                "add(\"decoder\"): the array of its values is that of the values of \"encoder\"");
        refused(() -> tied.add("decoder", new float[2], gradient), "the gradient of \"encoder\"", "once");
        refused(() -> tied.add("decoder", new float[2], w), "its gradient", "the values of \"encoder\"");
        assertThat(new Sgd(tied, 0.1).parameters()).hasSize(1);
        tied.add("none", new float[0], new float[0]).add("none either", new float[0], new float[0]);
    }

    @Test
    void gradientsThatOverlapAreRefusedWithBothNames() {
        float[] all = new float[10];
        Parameter first = new Parameter("first", Tensor.of(new float[4]), part(all, 0, 4));
        Parameter second = new Parameter("second", Tensor.of(new float[4]), part(all, 6, 4));
        Parameter third = new Parameter("third", Tensor.of(new float[4]), part(all, 3, 4));
        assertThat(OptimizerCheck.requireUsable(List.of(second, first))).hasSize(2);
        refused(() -> OptimizerCheck.requireUsable(List.of(second, third)), "\"third\" and \"second\"", "same memory");
        refused(() -> OptimizerCheck.requireUsable(List.of(second, first, third)), "\"first\" and \"third\"");
        Parameter onGpu = onGpu("gpu", 4096);
        assertThat(OptimizerCheck.requireUsable(List.of(onGpu, onGpu("next", 4096 + 16))))
                .hasSize(2);
        refused(() -> OptimizerCheck.requireUsable(List.of(onGpu, onGpu("again", 4096 + 12))), "\"gpu\" and \"again\"");
    }

    private static Tensor part(float[] all, int from, int length) {
        return Tensor.wrap(all, from, length, DType.FLOAT32, Shape.of(length));
    }

    private static Parameter onGpu(String name, long address) {
        Tensor gradient = Tensor.onDevice(address, Device.cuda(0), 0, DType.FLOAT32, Shape.of(4));
        return new Parameter(name, gradient, gradient);
    }

    @Test
    void aGradientOfAnotherShapeIsRefused() {
        refused(() -> OptimizerCheck.requireUsable(List.of(parameter("w", 4, 3))), "\"w\"", "[4]", "[3]");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1})
    void fewerThanOneBackwardPassIsRefused(int passes) {
        refused(() -> OptimizerCheck.requirePasses(passes), "backwardPassesPerStep", String.valueOf(passes));
    }

    @Test
    void predividingASumIsRefused() {
        refused(
                () -> OptimizerCheck.options(ReduceOp.SUM, 2.0, Compression.NONE),
                "gradientPredivideFactor",
                "2.0",
                "SUM",
                "AVERAGE");
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -4, Double.NaN, Double.POSITIVE_INFINITY})
    void aPredivideFactorThatIsNoPositiveNumberIsRefused(double factor) {
        refused(
                () -> OptimizerCheck.options(ReduceOp.AVERAGE, factor, Compression.NONE),
                "gradientPredivideFactor",
                String.valueOf(factor));
    }

    @ParameterizedTest
    @EnumSource(
            value = ReduceOp.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {"AVERAGE", "SUM"})
    void gradientsAreCombinedByAverageOrSumOnly(ReduceOp op) {
        refused(() -> OptimizerCheck.options(op, 1.0, Compression.NONE), op.toString(), "AVERAGE", "SUM");
    }

    @Test
    void predividingSplitsTheDivisionOfTheAverage() {
        var options = OptimizerCheck.options(ReduceOp.AVERAGE, 4.0, Compression.FP16);

        assertThat(options.prescale()).isEqualTo(0.25);
        assertThat(options.postscale()).isEqualTo(4.0);
        assertThat(options.op()).isEqualTo(ReduceOp.AVERAGE);
        assertThat(options.compression()).isEqualTo(Compression.FP16);
    }

    @Test
    void gradientsThatAReducerCannotReadAreRefusedByName() {
        Tensor onGpu = Tensor.onDevice(4096, Device.cuda(0), 0, DType.FLOAT32, Shape.of(2));
        for (Tensor gradient : List.of(onGpu, Tensor.of(1, 2))) {
            assertThatThrownBy(() -> OptimizerCheck.requireReducible(
                            new Int8(),
                            List.of(parameter("b", 1, 1), new Parameter("w", gradient, gradient)),
                            AllreduceOptions.average(),
                            false))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED))
                    .hasMessageContainingAll("Int8", "\"w\"", gradient.toString(), "in the host's memory");
        }
    }

    private static void refused(ThrowingCallable call, String... facts) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                .message()
                .contains(facts);
    }

    private static Parameter parameter(String name, int elements, int gradientElements) {
        return new Parameter(name, Tensor.of(new float[elements]), Tensor.of(new float[gradientElements]));
    }
}
