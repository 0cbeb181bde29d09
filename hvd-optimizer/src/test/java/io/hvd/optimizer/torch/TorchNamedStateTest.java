package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.optimizer.NamedState;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adagrad;
import org.bytedeco.pytorch.AdagradOptions;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.RMSprop;
import org.bytedeco.pytorch.RMSpropOptions;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A LibTorch optimizer's state as named tensors, beside its state as bytes. */
class TorchNamedStateTest {
    /** Two layers, whose gradients depend on the step. */
    private static final class Net {
        final Module module = new Module();
        final LinearImpl first = new LinearImpl(5, 4);
        final LinearImpl second = new LinearImpl(4, 3);
        final TorchOptimizer optimizer;
        private int steps;

        Net(Function<TensorVector, Optimizer> make) {
            module.register_module("first", first);
            module.register_module("second", second);
            for (var parameter : TorchTensors.parameters(module).values()) {
                parameter.copyFrom(
                        Tensor.wrap(floats((int) parameter.elements(), 0.1f), DType.FLOAT32, parameter.shape()));
            }
            optimizer = new TorchOptimizer(make.apply(module.parameters()), module.named_parameters());
        }

        private static float[] floats(int count, float factor) {
            float[] all = new float[count];
            for (int i = 0; i < count; i++) {
                all[i] = factor * (i % 7 - 3);
            }
            return all;
        }

        void step() {
            try (PointerScope scope = new PointerScope()) {
                optimizer.zeroGradients();
                var in = torch.full(new long[] {2, 5}, new org.bytedeco.pytorch.Scalar(0.3 + steps++));
                second.forward(first.forward(in)).sin().sum().backward();
                optimizer.step();
            }
        }

        void stepTo(int step) {
            while (steps < step) {
                step();
            }
        }

        String values() {
            StringBuilder all = new StringBuilder();
            TorchTensors.parameters(module)
                    .forEach((name, value) -> all.append(java.util.Arrays.toString(value.toFloatArray())));
            return all.toString();
        }

        SortedMap<String, Tensor> copies() {
            SortedMap<String, Tensor> copies = new TreeMap<>();
            optimizer.namedState().tensors().forEach((name, tensor) -> {
                Tensor copy = Tensor.zeros(tensor.dtype(), tensor.shape());
                copy.copyFrom(tensor);
                copies.put(name, copy);
            });
            return copies;
        }
    }

    private static Optimizer sgd(TensorVector all) {
        SGDOptions options = new SGDOptions(0.1);
        options.momentum().put(0.9);
        options.dampening().put(0.1);
        return new SGD(all, options);
    }

    private static Optimizer amsgrad(TensorVector all) {
        AdamOptions options = new AdamOptions(0.01);
        options.amsgrad().put(true);
        return new Adam(all, options);
    }

    private static Optimizer rmsProp(TensorVector all) {
        RMSpropOptions options = new RMSpropOptions(0.01);
        options.momentum().put(0.5);
        options.centered().put(true);
        return new RMSprop(all, options);
    }

    static Stream<Map.Entry<String, Function<TensorVector, Optimizer>>> optimizers() {
        return Stream.of(
                Map.entry("AdamW", all -> new AdamW(all, new AdamWOptions(0.01))),
                Map.entry("Adam with amsgrad", TorchNamedStateTest::amsgrad),
                Map.entry("SGD", TorchNamedStateTest::sgd),
                Map.entry("SGD without momentum", all -> new SGD(all, new SGDOptions(0.1))),
                Map.entry("RMSprop", TorchNamedStateTest::rmsProp),
                Map.entry("Adagrad", all -> new Adagrad(all, new AdagradOptions(0.1))),
                Map.entry("LARS", all -> new TorchLars(all, 0.1)),
                Map.entry("LAMB", all -> new TorchLamb(all, 0.01)));
    }

    @ParameterizedTest
    @MethodSource("optimizers")
    void anOptimizerGoesOnFromItsNamedStateToTheBit(Map.Entry<String, Function<TensorVector, Optimizer>> kind) {
        Net net = new Net(kind.getValue());
        net.stepTo(3);
        NamedState saved = new NamedState(
                net.copies(), new TreeMap<>(net.optimizer.namedState().words()));
        byte[] bytes = net.optimizer.saveState();
        Net other = new Net(kind.getValue());
        other.stepTo(3);
        other.optimizer.loadNamedState(saved);
        assertThat(other.optimizer.saveState()).isEqualTo(bytes);

        Net fresh = new Net(kind.getValue());
        TorchTensors.parameters(fresh.module)
                .forEach((name, value) ->
                        value.copyFrom(TorchTensors.parameters(net.module).get(name)));
        fresh.optimizer.loadNamedState(saved);
        fresh.steps = 3;
        assertThat(fresh.optimizer.saveState()).isEqualTo(bytes);
        net.stepTo(6);
        fresh.stepTo(6);
        assertThat(fresh.values()).isEqualTo(net.values());
        assertThat(fresh.optimizer.saveState()).isEqualTo(net.optimizer.saveState());
        assertThat(named(fresh)).isEqualTo(named(net));
    }

    /** LibTorch makes other tensors when it reads an archive. */
    @Test
    void aStateThatWasLoadedAsBytesShowsInTheNamedOneAlsoOfParametersOfOneElement() {
        for (int width : new int[] {1, 5}) {
            TorchOptimizer optimizer = stepped(width, 0.1);
            TorchOptimizer other = stepped(width, 0.7);
            assertThat(sum(optimizer)).isNotEqualTo(sum(other));
            optimizer.loadState(other.saveState());
            assertThat(sum(optimizer)).isEqualTo(sum(other));
        }
    }

    private static TorchOptimizer stepped(int width, double input) {
        LinearImpl layer = new LinearImpl(width, 1);
        TorchOptimizer optimizer =
                new TorchOptimizer(new AdamW(layer.parameters(), new AdamWOptions(0.1)), layer.named_parameters());
        TorchOptimizer.backward(layer.forward(torch.full(new long[] {2, width}, new org.bytedeco.pytorch.Scalar(input)))
                .sum());
        optimizer.step();
        return optimizer;
    }

    private static double sum(TorchOptimizer optimizer) {
        return optimizer.namedState().tensors().get("exp_avg.weight").toFloatArray()[0];
    }

    private static String named(Net net) {
        StringBuilder all = new StringBuilder();
        net.copies()
                .forEach((name, tensor) -> all.append(name)
                        .append(
                                tensor.dtype() == DType.INT64
                                        ? "" + ((long[]) tensor.toArray())[0]
                                        : java.util.Arrays.toString(tensor.toFloatArray())));
        return all.toString();
    }
}
