package io.hvd.optimizer.torch;

import static io.hvd.optimizer.Closeness.assertClose;
import static io.hvd.optimizer.torch.Models.weights;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Once the steps repeat, ranks that share cores let all gradients of a step travel when backward has ended. */
@Timeout(120)
class LateGradientsTest {
    /** As many as there are cores, so that none has a second one. */
    private static final int RANKS = Math.max(2, Runtime.getRuntime().availableProcessors());

    private static final int BATCH = 2;
    private static final int MOST_STEPS = 400;
    private static final int LATE_STEPS = 20;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    @ParameterizedTest
    @CsvSource({"1, true", "1, false", "2, true", "2, false"})
    void theyAddUpAsInLibTorch(int passes, boolean zeroes) {
        int[] steps = new int[RANKS];
        List<float[]> trained = Hvd.spawn(RANKS, hvd -> {
            Models.Net net = new Models.Net(7);
            DistributedOptimizer optimizer = distributed(net, passes);
            int late = 0;
            while (!allHaveSeen(hvd, late >= LATE_STEPS)) {
                late += backward(optimizer, net, passes, zeroes, steps[hvd.rank()]++, hvd.rank()) ? 1 : 0;
                optimizer.step();
                assertThat(steps[hvd.rank()])
                        .as("steps, of which %d were late", late)
                        .isLessThan(MOST_STEPS);
            }
            return weights(net);
        });

        assertThat(steps).containsOnly(steps[0]);
        assertThat(trained.get(1)).isEqualTo(trained.get(0));
        assertClose(trained.get(0), plain(passes, zeroes, steps[0]), 1e-4);
    }

    private static float[] plain(int passes, boolean zeroes, int steps) {
        Models.Net net = new Models.Net(7);
        SGD sgd = new SGD(net.parameters(), options());
        for (int step = 0; step < steps; step++) {
            if (zeroes) {
                sgd.zero_grad(true);
            }
            for (int pass = 0; pass < passes; pass++) {
                int from = first(step, pass, passes, 0);
                net.loss(from, from + BATCH * RANKS).backward();
            }
            sgd.step();
        }
        return weights(net);
    }

    @Test
    void whatIsRefusedWhileGradientsTravelIsRefusedWhileTheyWaitToo() {
        Hvd.spawn(RANKS, hvd -> {
            Models.Net net = new Models.Net(7);
            DistributedOptimizer optimizer = distributed(net, 1);
            boolean seen = false;
            for (int step = 0; !allHaveSeen(hvd, seen); step++) {
                assertThat(step).as("steps of which none was late").isLessThan(MOST_STEPS);
                boolean late = backward(optimizer, net, 1, true, step, hvd.rank());
                if (late && !seen) {
                    requireRefusals(optimizer, net);
                    seen = true;
                }
                optimizer.step();
                assertThatThrownBy(optimizer::step).hasMessageContaining("without a backward since the last step()");
            }
            return null;
        });
    }

    /** The program waits for something else between backward and the step, which no plan of early gradients allows to late ones. */
    @Test
    void theyStayLateIfTheProgramWaitsForSomethingElseInBetween() {
        Hvd.spawn(RANKS, hvd -> {
            Models.Net net = new Models.Net(7);
            DistributedOptimizer optimizer = distributed(net, 1);
            int late = 0;
            for (int step = 0; !allHaveSeen(hvd, late >= 5 * LATE_STEPS); step++) {
                assertThat(step).as("steps, of which %d were late", late).isLessThan(MOST_STEPS);
                boolean isLate = backward(optimizer, net, 1, true, step, hvd.rank());
                assertThat(isLate || late == 0)
                        .as("step %d after %d late ones", step, late)
                        .isTrue();
                late += isLate ? 1 : 0;
                hvd.allreduce("loss", Tensor.of(1f), AllreduceOptions.average());
                optimizer.step();
            }
            return null;
        });
    }

    @Test
    void aGradientThatIsGoneBeforeTheStepIsNamed() {
        Hvd.spawn(RANKS, hvd -> {
            Models.Net net = new Models.Net(7);
            DistributedOptimizer optimizer = distributed(net, 1);
            trainUntilLate(hvd, optimizer, net);
            net.dense1.weight().mutable_grad().put(new org.bytedeco.pytorch.Tensor());
            assertThatThrownBy(optimizer::step)
                    .hasMessageContaining("dense1.weight")
                    .hasMessageContaining("has been removed between backward and step()");
            return null;
        });
    }

    /** Ends behind a backward of all ranks whose gradients are late. */
    private static void trainUntilLate(HvdContext hvd, DistributedOptimizer optimizer, Models.Net net) {
        for (int step = 0; ; step++) {
            assertThat(step).as("steps of which none was late").isLessThan(MOST_STEPS);
            boolean late = backward(optimizer, net, 1, true, step, hvd.rank());
            if (allHaveSeen(hvd, late)) {
                return;
            }
            optimizer.step();
        }
    }

    private static void requireRefusals(DistributedOptimizer optimizer, Models.Net net) {
        assertThatThrownBy(optimizer::zeroGradients)
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("are being averaged")
                .extracting(thrown -> ((HvdException) thrown).id())
                .isEqualTo(ErrorId.OPTIMIZER_MISUSE);
        assertThatThrownBy(optimizer::noSync).hasMessageContaining("are being averaged");
        assertThatThrownBy(() -> net.loss(0, BATCH).backward()).hasMessageContaining("allowed are 1");
    }

    /** A part of every step, so that the ranks make as many and the steps repeat. */
    private static boolean allHaveSeen(HvdContext hvd, boolean seen) {
        return hvd.allreduce("seen", Tensor.of(seen ? 1f : 0f), AllreduceOptions.sum())
                        .item()
                == RANKS;
    }

    /** @return whether the gradients are where LibTorch has left them */
    private static boolean backward(
            DistributedOptimizer optimizer, Models.Net net, int passes, boolean zeroes, int step, int rank) {
        var weight = net.dense1.weight();
        if (zeroes) {
            optimizer.zeroGradients();
        }
        float[] before = optimizer.parameters().get(0).gradient().toFloatArray();
        long address = address(weight.grad());
        for (int pass = 0; pass < passes; pass++) {
            int from = first(step, pass, passes, rank);
            net.loss(from, from + BATCH).backward();
        }
        return zeroes
                ? Arrays.equals(before, optimizer.parameters().get(0).gradient().toFloatArray())
                : address == address(weight.grad());
    }

    private static long address(org.bytedeco.pytorch.Tensor tensor) {
        return tensor.defined() ? tensor.data_ptr().address() : 0;
    }

    /** The samples repeat after seven steps. */
    private static int first(int step, int pass, int passes, int rank) {
        return BATCH * (RANKS * (passes * (step % 7) + pass) + rank);
    }

    private static DistributedOptimizer distributed(Models.Net net, int passes) {
        var inner = new TorchOptimizer(new SGD(net.parameters(), options()), net.named_parameters());
        return DistributedOptimizer.wrap(inner).backwardPassesPerStep(passes).build();
    }

    private static SGDOptions options() {
        return new SGDOptions(1e-4);
    }
}
