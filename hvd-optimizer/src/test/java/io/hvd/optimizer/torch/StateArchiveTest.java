package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.state.NumberedArchive;
import io.hvd.optimizer.torch.state.TorchArchive;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.zip.CRC32C;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adagrad;
import org.bytedeco.pytorch.AdagradOptions;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.RMSprop;
import org.bytedeco.pytorch.RMSpropOptions;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever an archive holds, the process goes on: it is refused, or can be trained from. */
@Timeout(240)
class StateArchiveTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    static List<Arguments> optimizers() {
        AdamOptions amsgrad = Models.adam(0.01);
        amsgrad.amsgrad().put(true);
        RMSpropOptions centered = new RMSpropOptions(0.01);
        centered.centered().put(true);
        centered.momentum().put(0.5);
        Function<Module, Optimizer> sgd = net -> new SGD(net.parameters(), Models.sgd(0.05));
        Function<Module, Optimizer> adam = net -> new Adam(net.parameters(), amsgrad);
        Function<Module, Optimizer> rms = net -> new RMSprop(net.parameters(), centered);
        Function<Module, Optimizer> adagrad = net -> new Adagrad(net.parameters(), new AdagradOptions(0.1));
        return List.of(
                Arguments.of(Named.of("SGD", sgd)),
                Arguments.of(Named.of("Adam", adam)),
                Arguments.of(Named.of("RMSprop", rms)),
                Arguments.of(Named.of("Adagrad", adagrad)));
    }

    /** What becomes of one entry; null leaves it out. */
    private enum Change {
        MISSING(null),
        NUMBER(new IValue(-7L)),
        TEXT(new IValue("2")),
        SMALL(new IValue(torch.zeros(1))),
        NOTHING(new IValue()),
        TRUE(new IValue(true)),
        OTHER_TYPE(new IValue(torch.zeros(8, Models.INPUTS).to(torch.ScalarType.Double)));

        private final IValue value;

        Change(IValue value) {
            this.value = value;
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("optimizers")
    void eachEntryMayBeMissingOrAnotherAndTheTrainingGoesOn(Function<Module, Optimizer> make) {
        byte[] archive = archive(make);
        List<String> places = new ArrayList<>();
        visit(archive, (place, value) -> places.add(place));
        assertThat(places).hasSizeGreaterThan(12);
        int refused = 0;
        for (String place : places) {
            for (Change change : Change.values()) {
                refused += survives(make, changed(archive, place, change)) ? 0 : 1;
            }
        }
        assertThat(refused).isGreaterThan(places.size());
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("optimizers")
    void anyByteMayBeAnotherAndTheTrainingGoesOn(Function<Module, Optimizer> make) {
        byte[] archive = archive(make);
        Random random = new Random(5);
        for (int i = 0; i < 50; i++) {
            byte[] changed = archive.clone();
            changed[random.nextInt(changed.length)] = (byte) random.nextInt(256);
            survives(make, i % 10 == 0 ? Arrays.copyOf(changed, random.nextInt(changed.length)) : changed);
        }
    }

    @Test
    void whatIsWrongIsSaidByTheNameOfTheParameter() {
        Function<Module, Optimizer> adam = net -> new Adam(net.parameters(), Models.adam(0.01));
        byte[] archive = archive(adam);
        refused(
                adam,
                archive,
                "state/1/exp_avg",
                Change.SMALL,
                "\"exp_avg\" of \"dense1.weight\" is float32[1]",
                "[8, 5]");
        refused(adam, archive, "state/2/exp_avg_sq", Change.MISSING, "no \"state/2/exp_avg_sq\"", "expected a tensor");
        refused(adam, archive, "state/2/step", Change.NUMBER, "\"step\" of \"dense1.bias\" is -7");
        refused(
                adam,
                archive,
                "param_groups/param_groups/0/params/0",
                Change.TEXT,
                "gives number 2 to \"dense1.weight\" and to \"dense1.bias\"");
        refused(adam, archive, "state/3", Change.MISSING, "no buffers of \"dense2.weight\"", "make a new one");
        refused(
                adam,
                archive,
                "param_groups/param_groups/0/params/3",
                Change.MISSING,
                "no \"param_groups/",
                "params/3");
        refused(adam, archive, "pytorch_version", Change.MISSING, "no \"pytorch_version\"");
    }

    @Test
    void aStateOfWhichAByteWasChangedIsRefusedBeforeItIsRead() {
        TorchOptimizer optimizer = trained(net -> new Adam(net.parameters(), Models.adam(0.01)));
        byte[] state = optimizer.saveState();
        state[state.length / 2] ^= 1;
        assertThatThrownBy(() -> optimizer.loadState(state))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                .hasMessageContaining("CRC-32C");
    }

    /** The optimizer's state with another archive, as {@code TorchState} draws it. */
    private static byte[] stateWith(TorchOptimizer optimizer, byte[] archive) {
        byte[] saved = optimizer.saveState();
        int summedFrom = 2 * Integer.BYTES;
        int head = summedFrom + Integer.BYTES + ByteBuffer.wrap(saved).getInt(summedFrom) + 1;
        ByteBuffer bytes =
                ByteBuffer.allocate(head + archive.length).put(saved, 0, head).put(archive);
        CRC32C sum = new CRC32C();
        sum.update(bytes.array(), summedFrom, bytes.capacity() - summedFrom);
        return bytes.putInt(Integer.BYTES, (int) sum.getValue()).array();
    }

    private static void refused(
            Function<Module, Optimizer> make, byte[] archive, String place, Change change, String... facts) {
        TorchOptimizer optimizer = trained(make);
        byte[] before = optimizer.saveState();
        byte[] state = stateWith(optimizer, changed(archive, place, change));
        assertThatThrownBy(() -> optimizer.loadState(state))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                .hasMessageContainingAll(facts);
        assertThat(optimizer.saveState()).isEqualTo(before);
    }

    /** @return whether it was taken */
    private static boolean survives(Function<Module, Optimizer> make, byte[] archive) {
        try (PointerScope scope = new PointerScope()) {
            Models.Net net = new Models.Net(7);
            TorchOptimizer optimizer = new TorchOptimizer(make.apply(net), net.named_parameters());
            step(net, optimizer);
            byte[] before = optimizer.saveState();
            try {
                optimizer.loadState(stateWith(optimizer, archive));
            } catch (HvdException e) {
                assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH);
                assertThat(optimizer.saveState()).isEqualTo(before);
                return false;
            }
            step(net, optimizer);
            optimizer.saveState();
            return true;
        }
    }

    private static byte[] archive(Function<Module, Optimizer> make) {
        Models.Net net = new Models.Net(7);
        Optimizer inner = make.apply(net);
        step(net, new TorchOptimizer(inner, net.named_parameters()));
        return TorchArchive.writeState(inner);
    }

    private static TorchOptimizer trained(Function<Module, Optimizer> make) {
        Models.Net net = new Models.Net(7);
        TorchOptimizer optimizer = new TorchOptimizer(make.apply(net), net.named_parameters());
        step(net, optimizer);
        return optimizer;
    }

    private static void step(Models.Net net, TorchOptimizer optimizer) {
        optimizer.zeroGradients();
        net.loss(0, 2).backward();
        optimizer.step();
    }

    private static void visit(byte[] archive, BiConsumer<String, IValue> visitor) {
        TorchArchive.open(archive, opened -> visit("", opened, visitor));
    }

    private static void visit(String path, InputArchive archive, BiConsumer<String, IValue> visitor) {
        for (String key : NumberedArchive.keys(archive)) {
            IValue value = NumberedArchive.value(archive, key);
            visitor.accept(path + key, value);
            if (value.isModule()) {
                visit(path + key + "/", NumberedArchive.child(archive, key), visitor);
            }
        }
    }

    private static byte[] changed(byte[] archive, String place, Change change) {
        try (PointerScope scope = new PointerScope()) {
            return TorchArchive.write(
                    out -> TorchArchive.open(archive, opened -> copy("", opened, out, place, change)),
                    Integer.MAX_VALUE);
        }
    }

    private static void copy(String path, InputArchive from, OutputArchive to, String place, Change change) {
        for (String key : NumberedArchive.keys(from)) {
            IValue value = NumberedArchive.value(from, key);
            if ((path + key).equals(place)) {
                if (change.value != null) {
                    write(to, key, change.value);
                }
            } else if (value.isModule()) {
                OutputArchive child = new OutputArchive(to.compilation_unit());
                copy(path + key + "/", NumberedArchive.child(from, key), child, place, change);
                to.write(key, child);
            } else {
                write(to, key, value);
            }
        }
    }

    private static void write(OutputArchive to, String key, IValue value) {
        if (value.isTensor()) {
            to.write(key, value.toTensor());
        } else {
            to.write(key, value);
        }
    }
}
