package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Parameter;
import java.util.List;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Names of more parameters than are stepped. */
@Timeout(60)
class NamesAndGroupsTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    private static List<String> names(TorchOptimizer optimizer) {
        return optimizer.parameters().stream().map(Parameter::name).toList();
    }

    @Test
    void namesOfWhatTheOptimizerDoesNotStepAreLeftOut() {
        Models.Net net = new Models.Net(7);
        TorchOptimizer head =
                new TorchOptimizer(new SGD(net.dense2.parameters(), new SGDOptions(0.5)), net.named_parameters());
        TorchOptimizer rest =
                new TorchOptimizer(new SGD(net.dense1.parameters(), new SGDOptions(0.5)), net.named_parameters());

        assertThat(names(head)).isNotEmpty().allMatch(name -> name.startsWith("dense2."));
        assertThat(names(rest)).isNotEmpty().allMatch(name -> name.startsWith("dense1."));
        assertThat(head.toString()).startsWith("TorchOptimizer(SGD of 2 parameter(s), learning rate 0.5)");
    }

    /** Frozen after the optimizer was made, as for the first epochs of a fine tuning. */
    @Test
    void frozenOnesAreLeftOutToo() {
        Models.Net net = new Models.Net(7);
        SGD sgd = new SGD(net.parameters(), new SGDOptions(0.5));
        net.dense1.weight().set_requires_grad(false);

        assertThat(names(new TorchOptimizer(sgd, net.named_parameters())))
                .doesNotContain("dense1.weight")
                .contains("dense1.bias");
    }

    @Test
    void aSteppedParameterWithoutANameIsStillRefusedByItsPlace() {
        Models.Net net = new Models.Net(7);

        assertThatThrownBy(() -> new TorchOptimizer(
                        new SGD(net.parameters(), new SGDOptions(0.5)), net.dense2.named_parameters()))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                .hasMessageContainingAll(
                        "missing for 2 of them", "number 0 of group 0 with shape", "named_parameters()");
        assertThatThrownBy(() -> new TorchOptimizer(
                        new SGD(new Models.Net(8).parameters(), new SGDOptions(0.5)), net.named_parameters()))
                .hasMessageContaining("missing for");
    }

    @Test
    void aModelWithTwoOptimizersTrainsBothHalvesOnAllRanks() {
        Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(7);
            try (DistributedOptimizer first = wrap(net, new SGD(net.dense1.parameters(), new SGDOptions(0.5)));
                    DistributedOptimizer second = wrap(net, new SGD(net.dense2.parameters(), new SGDOptions(0.5)))) {
                var loss = net.dense2
                        .forward(net.dense1.forward(org.bytedeco
                                .pytorch
                                .global
                                .torch
                                .ones(1, net.dense1.weight().size(1))
                                .mul(new org.bytedeco.pytorch.Scalar(hvd.rank() + 1.0))))
                        .sum();
                TorchOptimizer.backward(loss);
                first.step();
                second.step();
            } // which compares the ranks' parameters
            return null;
        });
    }

    private static DistributedOptimizer wrap(Models.Net net, SGD sgd) {
        return DistributedOptimizer.wrap(new TorchOptimizer(sgd, net.named_parameters()))
                .build();
    }
}
