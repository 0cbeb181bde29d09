package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Models.weights;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Optimizer;
import io.hvd.tensor.Device;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.SequentialImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What hvd gives to a program, and what it keeps for itself, outlives the scope that was open when it was made. */
@Timeout(120)
class TorchScopeTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    /** Runs code in a scope, and afterwards fills what the end of the scope has freed. */
    private static <T> T scoped(Supplier<T> code) {
        T made;
        try (PointerScope scope = new PointerScope()) {
            made = code.get();
        }
        List<Tensor> rubble = new ArrayList<>();
        for (long numbers = 1; numbers <= 64; numbers++) {
            for (int i = 0; i < 20; i++) {
                rubble.add(torch.full(new long[] {numbers}, new Scalar(777.0)));
            }
        }
        rubble.forEach(Tensor::close);
        return made;
    }

    @Test
    void theCopiesOfAModelStay() {
        Models.Net net = new Models.Net(7);
        Map<String, io.hvd.tensor.Tensor> copies = scoped(() -> StateDict.of(net));
        Map<String, io.hvd.tensor.Tensor> aliases = scoped(() -> TorchTensors.state(net));
        assertThat(weights(copies)).isEqualTo(weights(net));
        assertThat(weights(aliases)).isEqualTo(weights(net));
        TreeMap<String, io.hvd.tensor.Tensor> ofGarbage = scoped(() -> TorchTensors.parameters(new Models.Net(8)));
        assertThat(weights(ofGarbage)).isEqualTo(weights(new Models.Net(8)));
    }

    static List<Arguments> optimizers() {
        BiFunction<HvdContext, Module, Optimizer> sgd = (hvd, net) -> distributed(
                hvd, new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05)), net.named_parameters()));
        BiFunction<HvdContext, Module, Optimizer> adam = (hvd, net) -> distributed(
                hvd, new TorchOptimizer(new Adam(net.parameters(), Models.adam(0.01)), net.named_parameters()));
        BiFunction<HvdContext, Module, Optimizer> withoutNames =
                (hvd, net) -> distributed(hvd, new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05))));
        BiFunction<HvdContext, Module, Optimizer> lars = (hvd, net) ->
                distributed(hvd, new TorchOptimizer(new TorchLars(net.parameters(), 0.5), net.named_parameters()));
        BiFunction<HvdContext, Module, Optimizer> lamb = (hvd, net) ->
                distributed(hvd, new TorchOptimizer(new TorchLamb(net.parameters(), 0.1), net.named_parameters()));
        BiFunction<HvdContext, Module, Optimizer> sharded = (hvd, net) -> distributed(
                hvd, TorchOptimizer.sharded(hvd, net.named_parameters(), share -> new Adam(share, Models.adam(0.01))));
        BiFunction<HvdContext, Module, Optimizer> narrow = (hvd, net) -> DistributedOptimizer.wrap(
                        new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05)), net.named_parameters()))
                .context(hvd)
                .compression(Compression.FP16)
                .refuseNonFinite(true)
                .build();
        BiFunction<HvdContext, Module, Optimizer> amp = (hvd, net) -> AmpOptimizer.wrap(distributed(
                        hvd, new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05)), net.named_parameters())))
                .clipGradientNorm(0.5)
                .build();
        return List.of(
                Arguments.of(Named.of("SGD", sgd)),
                Arguments.of(Named.of("Adam", adam)),
                Arguments.of(Named.of("without names", withoutNames)),
                Arguments.of(Named.of("LARS", lars)),
                Arguments.of(Named.of("LAMB", lamb)),
                Arguments.of(Named.of("sharded", sharded)),
                Arguments.of(Named.of("float16 and checks", narrow)),
                Arguments.of(Named.of("mixed precision", amp)));
    }

    private static DistributedOptimizer distributed(HvdContext hvd, Optimizer optimizer) {
        return DistributedOptimizer.wrap(optimizer).context(hvd).build();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("optimizers")
    void anOptimizerThatWasMadeAndFirstUsedInAScopeGoesOn(BiFunction<HvdContext, Module, Optimizer> make) {
        List<float[]> trained = Hvd.spawn(2, hvd -> {
            Models.Net plain = new Models.Net(7);
            Optimizer expected = make.apply(hvd, plain);
            step(plain, expected, hvd.rank());
            expected.loadNamedState(saved(expected));

            Models.Net net = new Models.Net(7);
            Optimizer made = scoped(() -> make.apply(hvd, net));
            scoped(() -> {
                step(net, made, hvd.rank());
                return null;
            });
            scoped(() -> {
                made.loadNamedState(saved(made));
                return null;
            });
            for (int i = 1; i < 3; i++) {
                step(plain, expected, 2 * i + hvd.rank());
                step(net, made, 2 * i + hvd.rank());
            }
            assertThat(weights(net)).isEqualTo(weights(plain));
            return weights(net);
        });
        assertThat(trained.get(1)).isEqualTo(trained.get(0));
    }

    /** Where the state is shared out, it is this rank's share. */
    private static NamedState saved(Optimizer optimizer) {
        if (optimizer instanceof DistributedOptimizer distributed) {
            distributed.broadcastOptimizerState(0);
        }
        return optimizer.namedState();
    }

    private static void step(Models.Net net, Optimizer optimizer, int sample) {
        optimizer.zeroGradients();
        Tensor loss = net.loss(sample, sample + 1);
        if (optimizer instanceof AmpOptimizer amp) {
            amp.backward(scale -> TorchOptimizer.backward(loss, scale));
        } else {
            TorchOptimizer.backward(loss);
        }
        optimizer.step();
    }

    @Test
    void masterWeightsThatWereMadeInAScopeGoOn() {
        Function<Models.Net, TorchOptimizer> make = net -> {
            MasterWeights masters = MasterWeights.of(net, ScalarType.BFloat16);
            return new TorchOptimizer(new SGD(masters.parameters(), Models.sgd(0.05)), masters);
        };
        Models.Net plain = new Models.Net(7);
        TorchOptimizer expected = make.apply(plain);
        Models.Net net = new Models.Net(7);
        TorchOptimizer made = scoped(() -> make.apply(net));
        for (int i = 0; i < 3; i++) {
            narrowStep(plain, expected);
            scoped(() -> {
                narrowStep(net, made);
                return null;
            });
        }
        assertThat(made.saveState()).isEqualTo(expected.saveState());
    }

    private static void narrowStep(Models.Net net, TorchOptimizer optimizer) {
        optimizer.zeroGradients();
        net.forward(Models.inputs(0, 2).to(ScalarType.BFloat16)).square().sum().backward();
        optimizer.step();
    }

    /** A batch norm in a field, in a list and in a sequence. */
    private static final class Norms extends Module {
        private final LinearImpl linear = register_module("linear", new LinearImpl(Models.INPUTS, 4));
        private BatchNorm1dImpl norm = register_module("norm", new BatchNorm1dImpl(new BatchNormOptions(4)));
        private List<BatchNorm1dImpl> list =
                List.of(register_module("listed", new BatchNorm1dImpl(new BatchNormOptions(4))));
        private SequentialImpl sequence = new SequentialImpl();
        private final BatchNorm1dImpl last = new BatchNorm1dImpl(new BatchNormOptions(4));

        Norms() {
            sequence.push_back("linear", new LinearImpl(4, 4));
            sequence.push_back("norm", last);
            register_module("sequence", sequence);
            Models.fill(this, 3);
        }

        Tensor loss(int sample) {
            Tensor x = list.get(0).forward(norm.forward(linear.forward(Models.inputs(sample, sample + 3))));
            return sequence.forward(x).square().mul(Models.tensor(1, 2, 3, 4)).sum();
        }
    }

    @Test
    void layersThatWereConvertedInAScopeGoOn() {
        Hvd.spawn(2, hvd -> {
            Norms plain = SyncBatchNorm.convert(new Norms(), hvd);
            Norms made = new Norms();
            scoped(() -> SyncBatchNorm.convert(made, hvd));
            for (int i = 0; i < 3; i++) {
                int sample = 6 * i + 3 * hvd.rank();
                plain.loss(sample).backward();
                scoped(() -> {
                    made.loss(sample).backward();
                    return null;
                });
            }
            assertThat(weights(TorchTensors.buffers(made))).isEqualTo(weights(TorchTensors.buffers(plain)));
            assertThat(Models.floats(made.linear.weight().grad()))
                    .isEqualTo(Models.floats(plain.linear.weight().grad()));
            return null;
        });
    }

    @Test
    void devicesOfAModelThatWereMadeInAScopeGoOn() {
        var devices = List.of(Device.CPU, Device.CPU);
        try (var made = scoped(() -> DataParallel.wrap(() -> new Models.Net(7), devices))) {
            Tensor batch = Models.inputs(0, 4);
            assertThat(Models.floats(made.forward(Models.Net::forward, batch).detach()))
                    .isEqualTo(Models.floats(new Models.Net(7).forward(batch).detach()));
            scoped(() -> made.forward(Models.Net::forward, batch));
            assertThat(Models.floats(made.forward(Models.Net::forward, batch).detach()))
                    .isEqualTo(Models.floats(new Models.Net(7).forward(batch).detach()));
        }
    }

    @Test
    void backwardGoesThroughCollectivesThatWereCalledInAScope() {
        Hvd.spawn(2, hvd -> {
            TorchCollectives collectives = scoped(() -> new TorchCollectives(hvd));
            Module net = new Module();
            Tensor w = Models.parameter(net, "w", 1, 2, 3);
            Tensor loss = scoped(() -> {
                Tensor sum = collectives.allreduce("sum", w.mul(new Scalar(1.0 + hvd.rank())));
                Tensor all = collectives.allgather("all", w);
                TensorVector both = new TensorVector(sum.sum(), all.sum());
                return torch.stack(both).sum().retainReference();
            });
            TorchOptimizer.backward(loss);
            assertThat(Models.floats(w.grad())).hasSize(3).containsOnly(1 + hvd.rank() + 1f);
            return null;
        });
    }
}
