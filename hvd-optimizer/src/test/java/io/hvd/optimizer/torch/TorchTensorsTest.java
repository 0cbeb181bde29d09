package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Models.weights;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.SplitMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class TorchTensorsTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    @Test
    void whatIsWrittenOnOneSideIsReadOnTheOther() {
        Tensor tensor = Models.tensor(1, 2, 3, 4, 5, 6).reshape(2, 3);
        io.hvd.tensor.Tensor alias = TorchTensors.alias("t", tensor);
        assertThat(alias.shape()).isEqualTo(Shape.of(2, 3));
        assertThat(alias.toFloatArray()).containsExactly(1, 2, 3, 4, 5, 6);

        tensor.mul_(new Scalar(10f));
        assertThat(alias.toFloatArray()).containsExactly(10, 20, 30, 40, 50, 60);

        alias.copyFrom(io.hvd.tensor.Tensor.wrap(new float[] {7, 0, 0, 0, 0, -1}, DType.FLOAT32, Shape.of(2, 3)));
        assertThat(tensor.sum().item_float()).isEqualTo(6);
        assertThat(tensor.max().item_float()).isEqualTo(7);
    }

    @ParameterizedTest
    @CsvSource({
        "Float, FLOAT32",
        "Double, FLOAT64",
        "Int, INT32",
        "Long, INT64",
        "Char, INT8",
        "Byte, UINT8",
        "Half, FLOAT16",
        "BFloat16, BFLOAT16",
        "Bool, BOOL",
        "Short, INT16",
        "UInt16, UINT16",
    })
    void everyTypeKeepsItsValues(ScalarType theirs, DType ours) {
        io.hvd.tensor.Tensor alias =
                TorchTensors.alias("t", Models.tensor(0, 1, 100).to(theirs));
        assertThat(alias.dtype()).isEqualTo(ours);
        assertThat(alias.bytes()).isEqualTo(3L * ours.bytes());
        assertThat(alias.toFloatArray()).containsExactly(0, 1, ours == DType.BOOL ? 1 : 100);
    }

    @ParameterizedTest
    @CsvSource({"ComplexFloat", "UInt32"})
    void aTypeThatDoesNotTravelIsRefusedByNameAndType(ScalarType type) {
        Tensor tensor = Models.tensor(0, 1).to(type);
        unsupported(tensor, "\"odd one\"", type.toString());
    }

    @Test
    void aTensorThatIsNotContiguousIsRefusedWithItsStridesAndTheRemedyWhichWorks() {
        Tensor transposed = Models.tensor(1, 2, 3, 4, 5, 6).reshape(2, 3).t();
        unsupported(
                transposed,
                "\"odd one\"",
                "shape [3, 2]",
                "strides [1, 3]",
                "not contiguous",
                "tensor.contiguous()",
                "tensor.copy_(copy)");

        Tensor copy = transposed.contiguous();
        io.hvd.tensor.Tensor alias = TorchTensors.alias("t", copy);
        assertThat(alias.toFloatArray()).containsExactly(1, 4, 2, 5, 3, 6);
        alias.copyFrom(io.hvd.tensor.Tensor.wrap(new float[] {10, 40, 20, 50, 30, 60}, DType.FLOAT32, alias.shape()));
        transposed.copy_(copy);
        assertThat(Models.floats(transposed.t())).containsExactly(10, 20, 30, 40, 50, 60);
    }

    @Test
    void aPartOfATensorBeginsWhereThePartBegins() {
        Tensor rows = Models.tensor(1, 2, 3, 4, 5, 6).reshape(3, 2);
        io.hvd.tensor.Tensor alias = TorchTensors.alias("t", rows.narrow(0, 1, 1));
        assertThat(alias.shape()).isEqualTo(Shape.of(1, 2));
        assertThat(alias.toFloatArray()).containsExactly(3, 4);
    }

    @Test
    void aTensorOfMoreBytesThanOneBufferIsAliasedThroughSeveral() {
        Tensor tensor = Models.tensor(1, 2, 3, 4, 5, 6, 7);
        io.hvd.tensor.Tensor alias = TensorViews.onHost("t", tensor, 8);
        assertThat(alias.memory()).isInstanceOf(SplitMemory.class);
        assertThat(alias.toFloatArray()).containsExactly(1, 2, 3, 4, 5, 6, 7);

        alias.copyFrom(io.hvd.tensor.Tensor.of(10, 20, 30, 40, 50, 60, 70f));
        assertThat(TorchTensors.alias("t", tensor).toFloatArray()).containsExactly(10, 20, 30, 40, 50, 60, 70);
    }

    @Test
    @Tag("long")
    void aTensorBeyondTheIntegersIsAliasedToItsLastByte() {
        long bytes = (1L << 31) + 16;
        try (Tensor tensor = torch.zeros(new long[] {bytes}, new TensorOptions(ScalarType.Byte))) {
            io.hvd.tensor.Tensor alias = TorchTensors.alias("t", tensor);
            alias.hostMemory().write(DType.UINT8, bytes - 2, new byte[] {7, 9}, 2);
            assertThat(alias.bytes()).isEqualTo(bytes);
            assertThat(tensor.narrow(0, bytes - 2, 1).item_byte()).isEqualTo((byte) 7);
            assertThat(tensor.narrow(0, bytes - 1, 1).item_byte()).isEqualTo((byte) 9);
        }
    }

    @Test
    void aTensorWithoutElementsKeepsItsShape() {
        io.hvd.tensor.Tensor alias = TorchTensors.alias("t", torch.zeros(0, 4));
        assertThat(alias.shape()).isEqualTo(Shape.of(0, 4));
        assertThat(alias.toFloatArray()).isEmpty();
    }

    @Test
    void aScalarHasNoDimension() {
        io.hvd.tensor.Tensor alias = TorchTensors.alias("t", Models.tensor(1, 2).sum());
        assertThat(alias.shape()).isEqualTo(Shape.scalar());
        assertThat(alias.item()).isEqualTo(3);
    }

    @Test
    void theStateOfAModuleHasItsBuffersTheParametersHaveNot() {
        Module net = new Module();
        net.register_module("dense", new LinearImpl(2, 3));
        BatchNorm1dImpl norm = net.register_module("norm", new BatchNorm1dImpl(new BatchNormOptions(3)));

        Map<String, io.hvd.tensor.Tensor> state = TorchTensors.state(net);
        assertThat(TorchTensors.parameters(net).keySet())
                .containsExactly("dense.bias", "dense.weight", "norm.bias", "norm.weight");
        assertThat(state.keySet())
                .containsExactly(
                        "dense.bias",
                        "dense.weight",
                        "norm.bias",
                        "norm.num_batches_tracked",
                        "norm.running_mean",
                        "norm.running_var",
                        "norm.weight");
        assertThat(state.get("norm.num_batches_tracked").dtype()).isEqualTo(DType.INT64);

        norm.forward(Models.tensor(1, 2, 3, 3, 4, 5).reshape(2, 3));
        assertThat(state.get("norm.num_batches_tracked").item()).isEqualTo(1);
        assertThat(state.get("norm.running_mean").toFloatArray()).containsExactly(0.2f, 0.3f, 0.4f);
    }

    @Test
    void theStateOfAModuleOutlivesTheModule() {
        List<Map<String, io.hvd.tensor.Tensor>> states = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            states.add(TorchTensors.state(new Models.Net(7)));
        }
        Garbage.collect();
        for (int i = 0; i < 20; i++) {
            new Models.Net(8); // takes the memory that is free
        }
        float[] expected = weights(new Models.Net(7));
        assertThat(states).allSatisfy(state -> assertThat(weights(state)).containsExactly(expected));
    }

    @Test
    void anAliasKeepsItsTensor() {
        List<io.hvd.tensor.Tensor> aliases = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            aliases.add(TorchTensors.alias("t", Models.tensor(i, 2, 3)));
        }
        Garbage.collect();
        for (int i = 0; i < 20; i++) {
            Models.tensor(-1, -1, -1);
        }
        for (int i = 0; i < 20; i++) {
            assertThat(aliases.get(i).toFloatArray()).containsExactly(i, 2, 3);
        }
    }

    private static void unsupported(Tensor tensor, String... facts) {
        assertThatThrownBy(() -> TorchTensors.alias("odd one", tensor))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED))
                .message()
                .contains(facts);
    }
}
