package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.OptimizerParamGroup;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Parameter groups that learn at different rates, as a head on a model that has been trained before. */
@Timeout(60)
class GroupRatesTest {
    private final Models.Net net = new Models.Net(7);

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    private SGD sgd(double first, double second) {
        SGD sgd = new SGD(net.dense1.parameters(), new SGDOptions(first));
        sgd.add_param_group(new OptimizerParamGroup(net.dense2.parameters(), new SGDOptions(second)));
        return sgd;
    }

    private TorchOptimizer optimizer(SGD sgd) {
        return new TorchOptimizer(sgd, net.named_parameters());
    }

    private static List<Double> rates(SGD sgd) {
        return IntStream.range(0, (int) sgd.param_groups().size())
                .mapToObj(i -> sgd.param_groups().get(i).options().get_lr())
                .collect(Collectors.toList());
    }

    private static void set(SGD sgd, double... rates) {
        for (int i = 0; i < rates.length; i++) {
            sgd.param_groups().get(i).options().set_lr(rates[i]);
        }
    }

    @Test
    void aNewRateKeepsTheRatioOfTheGroups() {
        SGD sgd = sgd(0.5, 0.125);
        Hvd.spawn(1, hvd -> {
            DistributedOptimizer optimizer =
                    DistributedOptimizer.wrap(optimizer(sgd)).build();
            optimizer.learningRate(4);
            assertThat(optimizer.learningRate()).isEqualTo(4);
            assertThat(rates(sgd)).containsExactly(4.0, 1.0);
            return null;
        });
    }

    @Test
    void theRatioOutlivesARateOfZero() {
        SGD sgd = sgd(0.5, 0.125);
        TorchOptimizer optimizer = optimizer(sgd);
        optimizer.learningRate(0);
        assertThat(rates(sgd)).containsExactly(0.0, 0.0);
        optimizer.learningRate(2);
        assertThat(rates(sgd)).containsExactly(2.0, 0.5);
    }

    @Test
    void manySmallChangesDoNotWearTheRatioDown() {
        SGD sgd = sgd(0.3, 0.1);
        TorchOptimizer optimizer = optimizer(sgd);
        for (int step = 1; step <= 10_000; step++) {
            optimizer.learningRate(0.3 / step);
        }
        optimizer.learningRate(0.3);
        assertThat(rates(sgd)).containsExactly(0.3, 0.3 * (0.1 / 0.3));
    }

    @Test
    void ratesThatTheProgramOrALoadedStateHasSetAreTheNewRatio() {
        SGD sgd = sgd(0.5, 0.125);
        TorchOptimizer optimizer = optimizer(sgd);
        set(sgd, 1, 8);
        optimizer.learningRate(0.5);
        assertThat(rates(sgd)).containsExactly(0.5, 4.0);

        SGD other = sgd(0.25, 0.5);
        optimizer.loadState(optimizer(other).saveState());
        optimizer.learningRate(1);
        assertThat(rates(sgd)).containsExactly(1.0, 2.0);
    }

    @Test
    void ratesOfZeroThatWereLoadedLeaveTheRatioThatIsKnown() {
        SGD sgd = sgd(0.5, 0.125);
        TorchOptimizer optimizer = optimizer(sgd);
        set(sgd, 0, 0);
        optimizer.learningRate(1);
        assertThat(rates(sgd)).containsExactly(1.0, 0.25);
    }

    @Test
    void aFirstGroupOfRateZeroHasNoRatioAndTheErrorShowsTheRates() {
        SGD sgd = sgd(0.5, 0.125);
        TorchOptimizer optimizer = optimizer(sgd);
        set(sgd, 0, 0.125);
        assertThatThrownBy(() -> optimizer.learningRate(1))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_ARGUMENT))
                .hasMessageContainingAll("2 groups", Arrays.toString(new double[] {0, 0.125}), "set_lr(rate)");
        assertThat(rates(sgd)).containsExactly(0.0, 0.125);
    }

    @Test
    void oneGroupMayBeginAtZero() {
        SGD sgd = new SGD(net.parameters(), new SGDOptions(0));
        optimizer(sgd).learningRate(0.25);
        assertThat(rates(sgd)).containsExactly(0.25);
    }
}
