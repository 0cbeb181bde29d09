package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.reduce.PowerSgd;
import io.hvd.optimizer.torch.TorchLamb;
import io.hvd.optimizer.torch.TorchLars;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.train.Goal;
import java.util.List;
import java.util.stream.Stream;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.TensorVector;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Rates, momenta, decays, betas and epsilons that no training can mean; torch raises a ValueError for each of the negative ones and NaN. */
class ImpossibleConstantsTest {
    private static final double[] NEVER = {Double.NaN, -1e-3, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 1e39};

    /** Makes something of one number, the others being the usual ones. */
    private interface Make {
        Object of(double number);
    }

    /** @param alsoOne whether 1 is refused too, as of a beta @param alsoZero whether 0 is */
    private record Constant(String name, boolean alsoOne, boolean alsoZero, Make make) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static Constant number(String name, Make make) {
        return new Constant(name, false, false, make);
    }

    private static Constant share(String name, Make make) {
        return new Constant(name, true, false, make);
    }

    private static Constant positive(String name, Make make) {
        return new Constant(name, false, true, make);
    }

    private static ArrayParameters arrays() {
        return new ArrayParameters().add("w", new float[] {1, 2}, new float[] {0.1f, 0.2f});
    }

    private static TensorVector layers() {
        return new LinearImpl(2, 2).parameters();
    }

    static Stream<Constant> constants() {
        return Stream.of(
                        List.of(
                                number("Sgd learning rate", x -> new Sgd(arrays(), x)),
                                number("Sgd momentum", x -> new Sgd(arrays(), 0.1, x, 0)),
                                number("Sgd weight decay", x -> new Sgd(arrays(), 0.1, 0, x)),
                                positive("Sgd.nesterov momentum", x -> Sgd.nesterov(arrays(), 0.1, x, 0)),
                                number("Sgd.nesterov weight decay", x -> Sgd.nesterov(arrays(), 0.1, 0.9, x)),
                                number("Adam learning rate", x -> new Adam(arrays(), x)),
                                share("Adam beta1", x -> new Adam(arrays(), 0.1, x, 0.999, 1e-8)),
                                share("Adam beta2", x -> new Adam(arrays(), 0.1, 0.9, x, 1e-8)),
                                number("Adam epsilon", x -> new Adam(arrays(), 0.1, 0.9, 0.999, x)),
                                number("AdamW learning rate", x -> new AdamW(arrays(), x)),
                                share("AdamW beta1", x -> new AdamW(arrays(), 0.1, x, 0.999, 1e-8, 0)),
                                share("AdamW beta2", x -> new AdamW(arrays(), 0.1, 0.9, x, 1e-8, 0)),
                                number("AdamW epsilon", x -> new AdamW(arrays(), 0.1, 0.9, 0.999, x, 0)),
                                number("AdamW weight decay", x -> new AdamW(arrays(), 0.1, 0.9, 0.999, 1e-8, x))),
                        List.of(
                                number("RmsProp learning rate", x -> new RmsProp(arrays(), x)),
                                share("RmsProp alpha", x -> new RmsProp(arrays(), 0.1, x, 1e-8, 0, 0)),
                                number("RmsProp epsilon", x -> new RmsProp(arrays(), 0.1, 0.99, x, 0, 0)),
                                share("RmsProp momentum", x -> new RmsProp(arrays(), 0.1, 0.99, 1e-8, x, 0)),
                                number("RmsProp weight decay", x -> new RmsProp(arrays(), 0.1, 0.99, 1e-8, 0, x)),
                                number("Adagrad learning rate", x -> new Adagrad(arrays(), x)),
                                number("Adagrad rate decay", x -> new Adagrad(arrays(), 0.1, x, 0, 1e-10)),
                                number("Adagrad weight decay", x -> new Adagrad(arrays(), 0.1, 0, x, 1e-10)),
                                number("Adagrad epsilon", x -> new Adagrad(arrays(), 0.1, 0, 0, x)),
                                number("Adadelta learning rate", x -> new Adadelta(arrays(), x)),
                                share("Adadelta rho", x -> new Adadelta(arrays(), 1, x, 1e-6, 0)),
                                positive("Adadelta epsilon", x -> new Adadelta(arrays(), 1, 0.9, x, 0)),
                                number("Adadelta weight decay", x -> new Adadelta(arrays(), 1, 0.9, 1e-6, x))),
                        List.of(
                                number("Lars learning rate", x -> new Lars(arrays(), x)),
                                share("Lars momentum", x -> new Lars(arrays(), 0.1, x, 0, 0.001, name -> true)),
                                number("Lars weight decay", x -> new Lars(arrays(), 0.1, 0.9, x, 0.001, name -> true)),
                                positive("Lars trust", x -> new Lars(arrays(), 0.1, 0.9, 0, x, name -> true)),
                                number("Lamb learning rate", x -> new Lamb(arrays(), x)),
                                share("Lamb beta1", x -> new Lamb(arrays(), 0.1, x, 0.999, 1e-6, 0, name -> true)),
                                share("Lamb beta2", x -> new Lamb(arrays(), 0.1, 0.9, x, 1e-6, 0, name -> true)),
                                number("Lamb epsilon", x -> new Lamb(arrays(), 0.1, 0.9, 0.999, x, 0, name -> true)),
                                number(
                                        "Lamb weight decay",
                                        x -> new Lamb(arrays(), 0.1, 0.9, 0.999, 1e-6, x, name -> true))),
                        List.of(
                                number("TorchLars learning rate", x -> new TorchLars(layers(), x)),
                                number(
                                        "TorchLars weight decay",
                                        x -> new TorchLars(layers(), 0.1, 0.9, x, 0.001, each -> true)),
                                positive("TorchLars trust", x -> new TorchLars(layers(), 0.1, 0.9, 0, x, each -> true)),
                                number("TorchLamb learning rate", x -> new TorchLamb(layers(), x)),
                                number(
                                        "TorchLamb epsilon",
                                        x -> new TorchLamb(layers(), 0.1, 0.9, 0.999, x, 0, each -> true))),
                        List.of(
                                number("a later learning rate", ImpossibleConstantsTest::later),
                                number("a later learning rate of LibTorch", ImpossibleConstantsTest::laterOfTorch),
                                number("a Goal's distance", x -> new Goal("loss", false, x)),
                                number(
                                        "PowerSgd orthogonalisationEpsilon",
                                        x -> new PowerSgd.Settings(2, 0, 2, true, true, x, 0)),
                                positive(
                                        "PowerSgd minCompressionRate",
                                        x -> new PowerSgd.Settings(2, 0, x, true, true, 0, 0))))
                .flatMap(List::stream);
    }

    private static Object later(double rate) {
        Sgd optimizer = new Sgd(arrays(), 0.1);
        optimizer.learningRate(rate);
        return optimizer;
    }

    private static Object laterOfTorch(double rate) {
        LinearImpl layer = new LinearImpl(2, 2);
        TorchOptimizer optimizer =
                new TorchOptimizer(new SGD(layer.parameters(), new SGDOptions(0.1)), layer.named_parameters());
        optimizer.learningRate(rate);
        return optimizer;
    }

    @ParameterizedTest
    @MethodSource("constants")
    void aConstantThatCannotBeIsRefusedAndOneThatCanIsNot(Constant constant) {
        for (double number : NEVER) {
            boolean isFloat = !constant.name.matches("Goal.*|a .*LibTorch|a Goal.*|PowerSgd.*|Torch.*");
            if (number != 1e39 || isFloat) {
                assertRefused(constant, number);
            }
        }
        if (constant.alsoOne) {
            assertRefused(constant, 1);
        }
        if (constant.alsoZero) {
            assertRefused(constant, 0);
        } else {
            assertThatCode(() -> constant.make.of(0)).as("0").doesNotThrowAnyException();
        }
        assertThatCode(() -> constant.make.of(0.5)).as("0.5").doesNotThrowAnyException();
    }

    private static void assertRefused(Constant constant, double number) {
        assertThatThrownBy(() -> constant.make.of(number))
                .as(constant + " of " + number)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_ARGUMENT))
                .hasMessageContaining(String.valueOf(number))
                .hasMessageContaining("expected");
    }

    @Test
    void aRefusedLearningRateLeavesTheOneBefore() {
        Sgd optimizer = new Sgd(arrays(), 0.25);

        assertThatThrownBy(() -> optimizer.learningRate(-1)).isInstanceOf(HvdException.class);

        assertThat(optimizer.learningRate()).isEqualTo(0.25);
    }
}
