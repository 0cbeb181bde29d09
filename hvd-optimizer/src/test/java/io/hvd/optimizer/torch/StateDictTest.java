package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.memory.TorchCopy;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.lang.ref.Reference;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class StateDictTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    private static final class Net extends Module {
        // The binding frees a batch norm together with its Java object, even while it is registered.
        private final BatchNorm1dImpl norm = register_module("norm", new BatchNorm1dImpl(new BatchNormOptions(2)));

        private Net() {
            register_module("linear", new LinearImpl(3, 2));
        }
    }

    @Test
    void whatWasTakenOutComesBackToTheLastBufferAndIsACopy() {
        Net net = new Net();
        TreeMap<String, Tensor> before = StateDict.of(net);
        assertThat(before)
                .containsOnlyKeys(
                        "linear.bias",
                        "linear.weight",
                        "norm.bias",
                        "norm.num_batches_tracked",
                        "norm.running_mean",
                        "norm.running_var",
                        "norm.weight");
        float[] weight = before.get("linear.weight").toFloatArray();
        try (NoGradGuard guard = new NoGradGuard()) {
            TensorViews.references(net.named_parameters()).get("linear.weight").zero_();
            net.norm.num_batches_tracked().fill_(new org.bytedeco.pytorch.Scalar(5));
        }
        assertThat(before.get("linear.weight").toFloatArray()).isEqualTo(weight);

        StateDict.load(net, before);
        assertThat(TorchTensors.state(net).get("linear.weight").toFloatArray()).isEqualTo(weight);
        assertThat(TorchTensors.state(net).get("norm.num_batches_tracked").item())
                .isZero();
    }

    @Test
    void aStateThatDoesNotFitIsRefusedByNameAndChangesNothing() {
        Net net = new Net();
        TreeMap<String, Tensor> state = StateDict.of(net);
        float[] before = state.get("linear.bias").toFloatArray();
        state.put("linear.bias", Tensor.of(7f, 7f));
        state.put("norm.weight", Tensor.of(1f, 2f, 3f));
        refused(net, state, "\"norm.weight\" is float32[3]", "float32[2]");
        state.remove("norm.weight");
        refused(net, state, "it lacks the names [norm.weight]. ", "load(module, state, false)");
        assertThat(TorchTensors.state(net).get("linear.bias").toFloatArray()).isEqualTo(before);
    }

    @Test
    void whatIsNotStrictLoadsTheCommonNamesAndReturnsTheOthers() {
        Net net = new Net();
        TreeMap<String, Tensor> state = StateDict.of(net);
        float[] before = state.remove("linear.weight").toFloatArray();
        state.put("linear.bias", Tensor.of(7f, 8f));
        state.put("head.weight", Tensor.of(1f));

        refused(net, state, "it lacks the names [linear.weight]", "[head.weight] are not the module's");
        StateDict.Difference difference = StateDict.load(net, state, false);

        assertThat(difference.missing()).containsExactly("linear.weight");
        assertThat(difference.unexpected()).containsExactly("head.weight");
        assertThat(difference.isNone()).isFalse();
        assertThat(TorchTensors.state(net).get("linear.bias").toFloatArray()).containsExactly(7f, 8f);
        assertThat(TorchTensors.state(net).get("linear.weight").toFloatArray()).isEqualTo(before);
        assertThat(StateDict.load(net, StateDict.of(net), false).isNone()).isTrue();
    }

    /** As torch, whose {@code strict=False} is about names only. */
    @Test
    void aShapeThatDiffersIsRefusedAlsoWhereNamesMayDiffer() {
        Net net = new Net();
        assertThatThrownBy(() -> StateDict.load(net, Map.of("norm.weight", Tensor.of(1f, 2f, 3f)), false))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("\"norm.weight\" is float32[3]", "float32[2]");
    }

    @Test
    void aPrefixOfAllNamesIsNamedAndTakenAway() {
        Net net = new Net();
        TreeMap<String, Tensor> wrapped = new TreeMap<>();
        StateDict.of(net).forEach((name, tensor) -> wrapped.put("module." + name, tensor));

        refused(net, wrapped, "begin with \"module.\"", "StateDict.withoutPrefix(state, \"module.\")");
        assertThat(StateDict.load(net, StateDict.withoutPrefix(wrapped, "module."), true)
                        .isNone())
                .isTrue();
        assertThat(StateDict.withoutPrefix(StateDict.of(net), "module."))
                .containsOnlyKeys(StateDict.of(net).keySet());
        wrapped.put("step", Tensor.of(1f));
        assertThatThrownBy(() -> StateDict.withoutPrefix(wrapped, "module."))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("1 of the 8 names", "\"step\" the first");
    }

    /** Taking the prefix away would be refused, because the other names have none. */
    @Test
    void aPrefixOfTheNamesThatAreTooManyIsNoPrefixOfTheState() {
        Net net = new Net();
        TreeMap<String, Tensor> state = StateDict.of(net);
        state.put("head.bias", Tensor.of(1f));
        state.put("head.weight", Tensor.of(1f));

        refused(net, state, "[head.bias, head.weight] are not the module's", "load(module, state, false)");
    }

    private static void refused(Module net, Map<String, Tensor> state, String... words) {
        assertThatThrownBy(() -> StateDict.load(net, state))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                .hasMessageContainingAll(words);
    }

    /** As memory on a GPU is handed to LibTorch. */
    @Test
    void anAddressIsThePointerThatLibTorchReadsFrom() {
        org.bytedeco.pytorch.Tensor owner = Models.tensor(1, 2, 3, 4);
        Pointer second = TorchCopy.pointer(owner.data_ptr().address() + 4);
        org.bytedeco.pytorch.Tensor view = torch.from_blob(second, new long[] {3}, new TensorOptions(ScalarType.Float));
        assertThat(view.sum().item_float()).isEqualTo(9);
        Reference.reachabilityFence(owner);
    }

    @Test
    void aStreamIsRefusedForATensorOnTheCpu() {
        assertThatThrownBy(() -> TorchTensors.alias("t", Models.tensor(1), 7L))
                .hasMessageContainingAll("\"t\"", "on the CPU", "stream 7");
    }

    /** One layer under two names, one weight under two names, and two parameters in the same memory. */
    private static final class Tied extends Module {
        private final LinearImpl encoder = register_module("encoder", new LinearImpl(2, 2));
        private final LinearImpl other = register_module("other", new LinearImpl(2, 2));

        private Tied() {
            register_module("decoder", encoder);
            register_parameter("weight", encoder.weight(), true);
            other.weight().set_data(encoder.weight());
        }
    }

    @Test
    void bothNamesOfATiedWeightAreSavedAndEitherIsEnough() {
        Tied net = new Tied();
        TreeMap<String, Tensor> state = StateDict.of(net);
        assertThat(state)
                .containsOnlyKeys(
                        "decoder.bias",
                        "decoder.weight",
                        "encoder.bias",
                        "encoder.weight",
                        "other.bias",
                        "other.weight",
                        "weight");
        for (String name : new String[] {"decoder.weight", "encoder.weight", "other.weight", "weight"}) {
            TreeMap<String, Tensor> one = new TreeMap<>(state);
            one.keySet().removeIf(each -> each.endsWith("weight") || each.equals("decoder.bias"));
            one.put(name, Tensor.wrap(new float[] {1, 2, 3, Float.NaN}, DType.FLOAT32, Shape.of(2, 2)));
            StateDict.load(net, one);
            StateDict.of(net).forEach((each, found) -> {
                if (each.endsWith("weight")) {
                    assertThat(found.toFloatArray()).as(each).containsExactly(1, 2, 3, Float.NaN);
                }
            });
        }
        StateDict.load(net, StateDict.of(net));
    }

    @Test
    void twoNamesOfATiedWeightWithDifferentValuesAreRefusedAndNothingChanges() {
        Tied net = new Tied();
        TreeMap<String, Tensor> state = StateDict.of(net);
        float[] before = state.get("encoder.weight").toFloatArray();
        float[] changed = before.clone();
        changed[3] = 8;
        state.put("encoder.weight", Tensor.wrap(changed, DType.FLOAT32, Shape.of(2, 2)));
        refused(net, state, "\"decoder.weight\" and \"encoder.weight\" are two names", "different values");
        state.keySet().removeIf(name -> name.endsWith("weight"));
        refused(net, state, "it lacks the names");
        assertThat(StateDict.of(net).get("weight").toFloatArray()).isEqualTo(before);
    }
}
