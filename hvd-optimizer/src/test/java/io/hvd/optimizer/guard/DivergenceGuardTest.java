package io.hvd.optimizer.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.hvd.Hvd;
import io.hvd.cuda.SimulatedGpu;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Parameter;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.Test;

class DivergenceGuardTest {
    private static List<Parameter> parameters(float[] first, double[] second) {
        return List.of(
                new Parameter("first", Tensor.of(first), Tensor.of(new float[first.length])),
                new Parameter("second", Tensor.of(second), Tensor.of(new double[second.length])));
    }

    @Test
    void equalReplicasPassHoweverLongTheyAre() {
        Hvd.spawn(3, hvd -> {
            DivergenceGuard guard = new DivergenceGuard(hvd, parameters(new float[50_001], new double[] {1, 2}), 2, "");
            for (int step = 0; step < 6; step++) {
                guard.stepped();
            }
            assertThat(guard.checkNanos()).isPositive();
            return null;
        });
    }

    @Test
    void theFirstParameterThatDiffersIsNamedWithRanksAndSteps() {
        Hvd.spawn(3, hvd -> {
            float[] first = new float[40_000];
            double[] second = {1, 2};
            DivergenceGuard guard = new DivergenceGuard(hvd, parameters(first, second), 2, "");
            guard.stepped();
            guard.stepped();
            if (hvd.rank() == 1) {
                second[1] = Math.nextUp(2.0);
            }
            guard.stepped();
            HvdException error = catchThrowableOfType(HvdException.class, guard::stepped);
            assertThat(error.id()).isEqualTo(ErrorId.DIVERGED);
            assertThat(error)
                    .hasMessageContainingAll(
                            "step 4",
                            "\"second\"",
                            "[1]",
                            "[0, 2]",
                            "after step 2.",
                            "learning rate",
                            "skipSynchronize()");
            return null;
        });
    }

    /** Otherwise rank 0 would compare two steps before the others, whose steps before the join were fewer. */
    @Test
    void afterAJoinAllRanksCountTheirStepsFromZero() {
        Hvd.spawn(3, hvd -> {
            double[] second = {1, 2};
            DivergenceGuard guard = new DivergenceGuard(hvd, parameters(new float[2], second), 4, "");
            for (int step = 0; step < 3 - hvd.rank(); step++) {
                guard.stepped();
            }
            hvd.join();
            second[1] = hvd.rank();
            for (int step = 0; step < 3; step++) {
                guard.stepped();
            }
            assertThat(catchThrowableOfType(HvdException.class, guard::stepped))
                    .hasMessageContainingAll("after step " + (7 - hvd.rank()), "\"second\"");
            return null;
        });
    }

    @Test
    void aDifferenceInTheLastElementOfALongParameterIsSeen() {
        Hvd.spawn(2, hvd -> {
            float[] first = new float[40_000];
            first[39_999] = hvd.rank();
            DivergenceGuard guard = new DivergenceGuard(hvd, parameters(first, new double[1]), 1, "");
            assertThat(catchThrowableOfType(HvdException.class, guard::stepped))
                    .hasMessageContainingAll("step 1", "\"first\"", "broadcastParameters");
            return null;
        });
    }

    /** The step's work is still queued when the guard comes, and the parameter has several pieces and a rest. */
    @Test
    void aParameterOnAGpuIsComparedAsTheStepLeavesItAndNamed() {
        int elements = DeviceFingerprints.PIECE_BYTES * 5 / 8 + 3;
        Hvd.spawn(3, hvd -> {
            SimulatedGpu gpu = new SimulatedGpu();
            gpu.enter();
            long compute = gpu.createStream();
            List<Parameter> parameters =
                    List.of(onGpu(gpu, "small", 5, compute), onGpu(gpu, "large", elements, compute));
            DivergenceGuard guard = new DivergenceGuard(hvd, parameters, 1, "", index -> gpu.device());
            for (int step = 1; step <= 4; step++) {
                update(gpu, parameters.get(1), elements - 1, 1f / step);
                guard.stepped();
            }
            for (int changed : new int[] {elements - 1, DeviceFingerprints.PIECE_BYTES / 4, 0}) {
                update(gpu, parameters.get(1), changed, hvd.rank() == 2 ? 2 : 3);
                assertThat(catchThrowableOfType(HvdException.class, guard::stepped))
                        .as("element %s", changed)
                        .hasMessageContainingAll("\"large\"", "[0, 1]", "[2]", "equal after step 4");
                update(gpu, parameters.get(1), changed, 4);
                gpu.awaitAll();
            }
            assertThat(gpu.failure()).isNull();
            return null;
        });
    }

    /** The program goes on with the GPU that it has chosen, which is not the one of the parameters. */
    @Test
    void aComparisonLeavesTheCurrentGpuAndNoPinnedMemory() {
        Hvd.spawn(2, hvd -> {
            SimulatedGpu compared = new SimulatedGpu();
            SimulatedGpu current = new SimulatedGpu();
            List<Parameter> parameters = List.of(onGpu(compared, "large", 5, 0));
            DivergenceGuard guard = new DivergenceGuard(hvd, parameters, 1, "", index -> compared.device());
            current.enter();
            for (int step = 1; step <= 2; step++) {
                guard.stepped();
                assertThat(compared.pinnedBuffers()).isZero();
                assertThat(current.allocate(8))
                        .as("the current GPU takes calls")
                        .isPositive();
            }
            assertThat(compared.mostPinnedBuffers()).isEqualTo(2);
            return null;
        });
    }

    private static Parameter onGpu(SimulatedGpu gpu, String name, int elements, long stream) {
        Tensor zeros = Tensor.zeros(DType.FLOAT32, Shape.of(elements));
        Tensor value = gpu.copyOf(zeros, Device.cuda(0), stream);
        return new Parameter(name, value, zeros);
    }

    /** Queues what changes one element. */
    private static void update(SimulatedGpu gpu, Parameter parameter, int element, float to) {
        DeviceMemory memory = (DeviceMemory) parameter.value().memory();
        gpu.enqueue(memory.stream(), () -> gpu.at(memory.address()).putFloat(4 * element, to));
    }

    @Test
    void zeroStepsMeansNever() {
        Hvd.spawn(2, hvd -> {
            DivergenceGuard guard =
                    new DivergenceGuard(hvd, parameters(new float[] {hvd.rank()}, new double[1]), 0, "");
            for (int step = 0; step < 10; step++) {
                guard.stepped();
            }
            return null;
        });
    }

    /** An allgather is refused while a rank has joined, and the guard is on by default. */
    @Test
    void theOthersCompareWhileARankHasJoined() {
        Hvd.spawn(3, hvd -> {
            double[] second = {1, 2};
            DivergenceGuard guard = new DivergenceGuard(hvd, parameters(new float[3], second), 2, "");
            guard.stepped();
            guard.stepped();
            if (hvd.rank() != 1) {
                for (int step = 0; step < 4; step++) {
                    second[0]++;
                    guard.stepped();
                }
                second[1] = hvd.rank();
                guard.stepped();
                assertThat(catchThrowableOfType(HvdException.class, guard::stepped))
                        .hasMessageContainingAll("after step 8", "\"second\", in groups of ranks", "[0]", "[2]")
                        .hasMessageContaining("equal after step 6.")
                        .hasMessageNotContaining("[1]");
            }
            hvd.join();
            return null;
        });
    }
}
