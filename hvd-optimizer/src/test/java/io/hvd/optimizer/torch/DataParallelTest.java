package io.hvd.optimizer.torch;

import static io.hvd.optimizer.Closeness.assertClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.bytedeco.pytorch.global.torch.mse_loss;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.DataParallelStats.Share;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.tensor.Device;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(120)
class DataParallelTest {
    private static final int STEPS = 3;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    private static List<Device> cpus(int count) {
        return Collections.nCopies(count, Device.CPU);
    }

    private static DataParallel<Models.Net> nets(int devices) {
        AtomicInteger seeds = new AtomicInteger(4);
        return DataParallel.wrap(() -> new Models.Net(seeds.getAndIncrement()), cpus(devices));
    }

    private static Tensor loss(Tensor output, int from, int to) {
        return mse_loss(output, Models.targets(from, to));
    }

    private static float[] gradients(Module module) {
        float[] all = new float[0];
        for (Tensor parameter :
                TensorViews.references(module.named_parameters()).values()) {
            float[] part = Models.floats(parameter.grad());
            int at = all.length;
            all = java.util.Arrays.copyOf(all, at + part.length);
            System.arraycopy(part, 0, all, at, part.length);
        }
        return all;
    }

    /** The replicas begin with weights of their own, so without copies the outputs would differ. */
    @ParameterizedTest(name = "{1} samples on {0} devices")
    @CsvSource({"1, 7", "2, 7", "3, 7", "3, 4", "3, 2", "2, 1", "2, 8"})
    void outputsGradientsAndStepsAreThoseOfTheModuleAlone(int devices, int batch) {
        Models.Net alone = new Models.Net(4);
        SGD sgdAlone = new SGD(alone.parameters(), Models.sgd(0.1));
        try (DataParallel<Models.Net> parallel = nets(devices)) {
            SGD sgd = new SGD(parallel.module().parameters(), Models.sgd(0.1));
            for (int step = 0; step < STEPS; step++) {
                int from = 100 * step;
                sgdAlone.zero_grad();
                sgd.zero_grad();
                Tensor expected = alone.forward(Models.inputs(from, from + batch));
                Tensor output = parallel.forward(Models.Net::forward, Models.inputs(from, from + batch));
                assertClose(Models.floats(output), Models.floats(expected), 1e-6);
                assertThat(output.sizes().vec().get()).containsExactly(batch, Models.OUTPUTS);
                loss(expected, from, from + batch).backward();
                loss(output, from, from + batch).backward();
                assertClose(gradients(parallel.module()), gradients(alone), 1e-5);
                sgdAlone.step().close();
                sgd.step().close();
            }
            assertClose(Models.weights(parallel.module()), Models.weights(alone), 1e-5);
        }
    }

    @ParameterizedTest(name = "{1} rows on {0} devices")
    @CsvSource({"3, 5, 2 2 1", "3, 4, 2 2", "3, 1, 1", "4, 6, 2 2 2", "2, 0, 0", "1, 5, 5"})
    void rowsAreDealtAsTorchsChunkDealsThemAndComeBackInOrder(int devices, int rows, String parts) {
        Queue<String> threads = new ConcurrentLinkedQueue<>();
        try (DataParallel<Models.Net> parallel = nets(devices)) {
            Tensor input = Models.inputs(0, Math.max(1, rows)).narrow(0, 0, rows);
            Tensor output = parallel.forward(
                    (net, part) -> {
                        threads.add(Thread.currentThread().getName());
                        return part.mul(new Scalar(2));
                    },
                    input);

            List<Share> shares = parallel.lastForward().shares();
            assertThat(shares.stream().map(Share::rows).map(String::valueOf).toList())
                    .containsExactly(parts.split(" "));
            assertThat(output.equal(input.mul(new Scalar(2)))).isTrue();
            assertThat(threads).hasSize(shares.size()).doesNotHaveDuplicates().allMatch(name -> name.endsWith("-cpu"));
        }
    }

    @Test
    void theStatisticsCountWhatEachDeviceHoldsAndWhatTheFirstGathers() {
        try (DataParallel<Models.Net> parallel = nets(2)) {
            assertThat(parallel.lastForward().shares()).isEmpty();
            parallel.forward(Models.Net::forward, Models.inputs(0, 3));

            DataParallelStats stats = parallel.lastForward();
            long state = 4 * (5 * 8 + 8 + 8 * 3 + 3);
            assertThat(stats.shares())
                    .containsExactly(
                            new Share(Device.CPU, 2, state, 2 * 5 * 4, 2 * 3 * 4),
                            new Share(Device.CPU, 1, state, 5 * 4, 3 * 4));
            assertThat(stats.copiedBytes()).isEqualTo(state);
            assertThat(stats.gatheredBytes()).isEqualTo(3 * 3 * 4);
            assertThat(stats.overhead()).isBetween(0.0, 1.0);
            assertThat(stats.toString()).contains("2 devices", "gathered on cpu");
        }
    }

    @Test
    void severalInputsAreSplitAlikeAndSeveralOutputsGathered() {
        try (DataParallel<Models.Net> parallel = nets(3)) {
            Tensor inputs = Models.inputs(0, 5);
            Tensor weights = Models.tensor(1, 2, 3, 4, 5);
            List<Tensor> outputs = parallel.forwardAll(
                    (net, parts) -> List.of(parts.get(0).mul(parts.get(1).unsqueeze(1)), parts.get(1)),
                    List.of(inputs, weights));

            assertThat(outputs.get(0).equal(inputs.mul(weights.unsqueeze(1)))).isTrue();
            assertThat(outputs.get(1).equal(weights)).isTrue();
            Tensor product = parallel.forward(
                    (net, parts) -> parts.get(0).mul(parts.get(1).unsqueeze(1)), List.of(inputs, weights));
            assertThat(product.equal(outputs.get(0))).isTrue();
        }
    }

    /** A loss within the replicas leaves one number to gather from each of them. */
    @ParameterizedTest
    @CsvSource({"1", "2"})
    void aScalarOfEachReplicaBecomesAVector(int devices) {
        try (DataParallel<Models.Net> parallel = nets(devices)) {
            Tensor losses = parallel.forward(
                    (net, parts) -> mse_loss(net.forward(parts.get(0)), parts.get(1)),
                    List.of(Models.inputs(0, 4), Models.targets(0, 4)));

            assertThat(losses.sizes().vec().get()).containsExactly(devices);
            losses.mean().backward();
            Models.Net alone = new Models.Net(4);
            alone.loss(0, 4).backward();
            assertClose(gradients(parallel.module()), gradients(alone), 1e-5);
        }
    }

    /** A batch norm behind a dense layer. */
    private static final class Normed extends Module {
        final LinearImpl dense = register_module("dense", new LinearImpl(Models.INPUTS, 3));
        final BatchNorm1dImpl norm = register_module("norm", new BatchNorm1dImpl(new BatchNormOptions(3)));

        Normed() {
            Models.fill(this, 8);
        }

        Tensor forward(Tensor x) {
            return norm.forward(dense.forward(x));
        }
    }

    @Test
    void runningStatisticsFollowTheFirstReplica() {
        Normed alone = new Normed();
        try (DataParallel<Normed> parallel = DataParallel.wrap(Normed::new, cpus(2))) {
            for (int step = 0; step < STEPS; step++) {
                parallel.forward(Normed::forward, Models.inputs(10 * step, 10 * step + 8));
                alone.forward(Models.inputs(10 * step, 10 * step + 4));
            }
            assertThat(Models.weights(TorchTensors.state(parallel.module())))
                    .isEqualTo(Models.weights(TorchTensors.state(alone)));
            parallel.module().train(false);
            alone.train(false);
            assertClose(
                    Models.floats(parallel.forward(Normed::forward, Models.inputs(0, 8))),
                    Models.floats(alone.forward(Models.inputs(0, 8))),
                    1e-6);
        }
    }

    @Test
    void everyModuleInsideOfAReplicaHasTheModeOfTheFirstReplicas() {
        try (DataParallel<Normed> parallel = DataParallel.wrap(Normed::new, cpus(2))) {
            Normed second = parallel.replicas().get(1);
            parallel.module().norm.train(false);
            parallel.forward(Normed::forward, Models.inputs(0, 8));
            assertThat(second.is_training()).isTrue();
            assertThat(second.norm.is_training()).isFalse();

            parallel.module().train(false);
            parallel.module().norm.train(true);
            parallel.forward(Normed::forward, Models.inputs(0, 8));
            assertThat(second.is_training()).isFalse();
            assertThat(second.norm.is_training()).isTrue();
        }
    }

    @Test
    void theThreadsTakeOverTheCallersSwitchesOfGradientsAndAutocast() {
        try (DataParallel<Models.Net> parallel = nets(2)) {
            try (NoGradGuard guard = new NoGradGuard()) {
                Tensor output = parallel.forward(Models.Net::forward, Models.inputs(0, 4));
                assertThat(output.requires_grad()).isFalse();
            }
            try (Autocast half = Autocast.to(ScalarType.BFloat16, DeviceType.CPU)) {
                Tensor output = parallel.forward(Models.Net::forward, Models.inputs(0, 4));
                assertThat(output.scalar_type().intern()).isEqualTo(ScalarType.BFloat16);
            }
            Tensor output = parallel.forward(Models.Net::forward, Models.inputs(0, 4));
            assertThat(output.requires_grad()).isTrue();
            assertThat(output.scalar_type().intern()).isEqualTo(ScalarType.Float);
        }
    }

    /** They would otherwise take more cores than the caller was given. */
    @Test
    void theThreadsShareTheThreadsThatLibTorchUsesWithinAnOperation() {
        int before = torch.get_num_threads();
        try (DataParallel<Models.Net> parallel = nets(2)) {
            for (int all : new int[] {4, 1, 6}) {
                torch.set_num_threads(all);
                Queue<Integer> shares = new ConcurrentLinkedQueue<>();
                parallel.forward(
                        (net, part) -> {
                            shares.add(torch.get_num_threads());
                            return part;
                        },
                        Models.inputs(0, 4));
                assertThat(shares).containsExactly(Math.max(1, all / 2), Math.max(1, all / 2));
                assertThat(torch.get_num_threads()).isEqualTo(all);
            }
        } finally {
            torch.set_num_threads(before);
        }
    }

    /** LibTorch counts what it changes itself; a broadcast and a checkpoint write to the memory. */
    @Test
    void weightsThatAreWrittenPastLibTorchReachAllReplicas() {
        try (DataParallel<Models.Net> parallel = nets(2)) {
            parallel.forward(Models.Net::forward, Models.inputs(0, 4));
            Models.fill(parallel.module(), 77);

            assertClose(
                    Models.floats(parallel.forward(Models.Net::forward, Models.inputs(0, 4))),
                    Models.floats(new Models.Net(77).forward(Models.inputs(0, 4))),
                    1e-6);
        }
    }

    @Test
    void twoPassesMayGoBeforeTheBackwardOfBoth() {
        Models.Net alone = new Models.Net(4);
        alone.loss(0, 4).add(alone.loss(10, 13)).backward();
        try (DataParallel<Models.Net> parallel = nets(2)) {
            Tensor first = loss(parallel.forward(Models.Net::forward, Models.inputs(0, 4)), 0, 4);
            Tensor second = loss(parallel.forward(Models.Net::forward, Models.inputs(10, 13)), 10, 13);
            first.add(second).backward();

            assertClose(gradients(parallel.module()), gradients(alone), 1e-5);
        }
    }

    @Test
    void aFrozenParameterStaysWithoutAGradientAndTrainsAgainLater() {
        try (DataParallel<Models.Net> parallel = nets(2)) {
            Tensor frozen = parallel.module().dense1.weight();
            frozen.requires_grad_(false);
            loss(parallel.forward(Models.Net::forward, Models.inputs(0, 4)), 0, 4)
                    .backward();
            assertThat(frozen.grad().defined()).isFalse();

            frozen.requires_grad_(true);
            loss(parallel.forward(Models.Net::forward, Models.inputs(0, 4)), 0, 4)
                    .backward();
            Models.Net alone = new Models.Net(4);
            alone.loss(0, 4).backward();
            assertClose(
                    Models.floats(frozen.grad()),
                    Models.floats(alone.dense1.weight().grad()),
                    1e-5);
        }
    }

    @Test
    void theGradientOfAnInputIsGatheredToo() {
        Models.Net alone = new Models.Net(4);
        Tensor expected = Models.inputs(0, 5).requires_grad_(true);
        loss(alone.forward(expected), 0, 5).backward();
        try (DataParallel<Models.Net> parallel = nets(3)) {
            Tensor input = Models.inputs(0, 5).requires_grad_(true);
            loss(parallel.forward(Models.Net::forward, input), 0, 5).backward();

            assertClose(Models.floats(input.grad()), Models.floats(expected.grad()), 1e-5);
        }
    }

    /** Two ranks with two devices each train as one rank with the whole batch. */
    @Test
    void aDistributedOptimizerAveragesTheGradientsOfAllDevices() {
        Models.Net alone = new Models.Net(4);
        SGD sgdAlone = new SGD(alone.parameters(), Models.sgd(0.1));
        for (int step = 0; step < STEPS; step++) {
            sgdAlone.zero_grad();
            alone.loss(100 * step, 100 * step + 12).backward();
            sgdAlone.step().close();
        }

        List<float[]> weights = Hvd.spawn(2, hvd -> {
            try (DataParallel<Models.Net> parallel = nets(2)) {
                Models.Net net = parallel.module();
                var optimizer = DistributedOptimizer.wrap(
                                new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.1)), net.named_parameters()))
                        .build();
                for (int step = 0; step < STEPS; step++) {
                    try (PointerScope scope = new PointerScope()) {
                        int from = 100 * step + 6 * hvd.rank();
                        optimizer.zeroGradients();
                        loss(parallel.forward(Models.Net::forward, Models.inputs(from, from + 6)), from, from + 6)
                                .backward();
                        optimizer.step();
                    }
                }
                return Models.weights(net);
            }
        });

        assertThat(weights.get(1)).isEqualTo(weights.get(0));
        assertClose(weights.get(0), Models.weights(alone), 1e-5);
    }

    @Test
    void aGradientCanBeDifferentiatedAgain() {
        Models.Net alone = new Models.Net(4);
        float[] expected = penalty(alone.dense1.weight(), alone.forward(Models.inputs(0, 4)));
        try (DataParallel<Models.Net> parallel = nets(2)) {
            Tensor output = parallel.forward(Models.Net::forward, Models.inputs(0, 4));

            assertClose(penalty(parallel.module().dense1.weight(), output), expected, 1e-4);
        }
    }

    /** The gradient of the squared gradient of the weights. */
    private static float[] penalty(Tensor weight, Tensor output) {
        Tensor gradient = torch.grad(
                        new TensorVector(output.mul(output).sum()),
                        new TensorVector(weight),
                        new TensorVector(),
                        new org.bytedeco.pytorch.BoolOptional(),
                        true,
                        false)
                .get(0);
        gradient.mul(gradient).sum().backward();
        return Models.floats(weight.grad());
    }

    @ParameterizedTest
    @CsvSource({"false", "true"})
    void aReplicasFailureNamesItsDeviceAndRowsAndLeavesTheOthersUsable(boolean error) {
        Throwable cause = error ? new StackOverflowError("deep") : new IllegalStateException("bad row");
        try (DataParallel<Models.Net> parallel = nets(3)) {
            Models.Net second = parallel.replicas().get(1);
            assertThatThrownBy(() -> parallel.forward(
                            (net, part) -> {
                                if (net == second) {
                                    throwUnchecked(cause);
                                }
                                return net.forward(part);
                            },
                            Models.inputs(0, 5)))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("HVD-405", "replica 1 of 3", "rows 2 to 3", "on cpu", cause.getMessage())
                    .hasCause(cause);

            assertClose(
                    Models.floats(parallel.forward(Models.Net::forward, Models.inputs(0, 5))),
                    Models.floats(new Models.Net(4).forward(Models.inputs(0, 5))),
                    1e-6);
        }
    }

    private static void throwUnchecked(Throwable cause) {
        if (cause instanceof Error) {
            throw (Error) cause;
        }
        throw (RuntimeException) cause;
    }

    @Test
    void failuresOfSeveralReplicasAreAllKept() {
        try (DataParallel<Models.Net> parallel = nets(2)) {
            assertThatThrownBy(() -> parallel.forward(
                            (net, part) -> {
                                throw new IllegalArgumentException(
                                        Thread.currentThread().getName());
                            },
                            Models.inputs(0, 4)))
                    .hasMessageContaining("hvd-replica-0")
                    .satisfies(failure -> assertThat(failure.getSuppressed()[0]).hasMessageContaining("hvd-replica-1"));
        }
    }

    /** LibTorch's own complaint about a batch that does not fit, for one. */
    @Test
    void whatLibTorchRefusesIsNamedToo() {
        try (DataParallel<Models.Net> parallel = nets(2)) {
            assertThatThrownBy(() -> parallel.forward(Models.Net::forward, Models.targets(0, 4)))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("replica 0 of 2, rows 0 to 1 on cpu", "mat1 and mat2");
        }
    }

    @Test
    void anInterruptWaitsForTheReplicasAndIsKept() {
        try (DataParallel<Models.Net> parallel = nets(2)) {
            Thread.currentThread().interrupt();
            parallel.forward(Models.Net::forward, Models.inputs(0, 4));

            assertThat(Thread.interrupted()).isTrue();
        }
    }

    @Test
    void aForwardInsideOfAForwardIsRefusedInsteadOfWaitingForItself() {
        AtomicReference<DataParallel<Models.Net>> itself = new AtomicReference<>();
        try (DataParallel<Models.Net> parallel = nets(2)) {
            itself.set(parallel);
            assertThatThrownBy(() -> parallel.forward(
                            (net, part) -> itself.get().forward(Models.Net::forward, part), Models.inputs(0, 4)))
                    .hasStackTraceContaining("forward inside of its own forward, on hvd-replica-0-cpu");
        }
    }

    @Test
    void aClosedOneIsRefused() {
        DataParallel<Models.Net> parallel = nets(2);
        parallel.close();
        parallel.close();

        assertRefused(() -> parallel.forward(Models.Net::forward, Models.inputs(0, 4)), "forward after close()");
    }

    @Test
    void inputsThatCannotBeSplitAlikeAreNamed() {
        try (DataParallel<Models.Net> parallel = nets(2)) {
            assertRefused(() -> parallel.forward((net, in) -> in.get(0), List.of()), "no input");
            assertRefused(
                    () -> parallel.forward((net, in) -> in.get(0), List.of(Models.inputs(0, 4), Models.inputs(0, 3))),
                    "input 1 has shape [3, 5], expected 4 rows");
            assertRefused(
                    () -> parallel.forward(
                            (net, part) -> part, Models.inputs(0, 4).sum()),
                    "input 0 has shape [], expected at least one dimension");
            assertRefused(
                    () -> parallel.forward(
                            (net, part) -> net == parallel.module() ? part : part.narrow(1, 0, 2), Models.inputs(0, 4)),
                    "output 0 cannot be gathered, its shapes by replica are [[2, 5], [2, 2]]");
        }
    }

    @Test
    void devicesThatCannotBeUsedAreNamed() {
        assertRefused(() -> DataParallel.wrap(Normed::new, List.of()), "no device");
        assertThatThrownBy(() -> DataParallel.wrap(Normed::new, List.of(Device.CPU, Device.cuda(1))))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll(ErrorId.NO_DEVICE.code(), "cuda:1 cannot be used");
    }

    @Test
    void modulesThatDifferAreNamed() {
        AtomicInteger width = new AtomicInteger(2);
        assertRefused(
                () -> DataParallel.wrap(() -> new LinearImpl(width.getAndIncrement(), 2), cpus(2)),
                "replica 1 on cpu has parameter \"weight\" with shape [2, 3]",
                "expected shape [2, 2] and type float32 as replica 0 has");
        Normed one = new Normed();
        assertRefused(() -> DataParallel.wrap(() -> one, cpus(2)), "replica 1 the module of replica 0");
        AtomicInteger kind = new AtomicInteger();
        assertRefused(
                () -> DataParallel.<Module>wrap(
                        () -> kind.getAndIncrement() == 0 ? new Normed() : new Models.Net(1), cpus(2)),
                "replica 1 on cpu has parameters [dense1.bias",
                "expected those of replica 0, [dense.bias");
    }

    @Test
    void aModelThatIsConvertedAloneIsRefusedAndConvertedWithItsReplicasIsNot() {
        try (DataParallel<Models.Net> parallel = nets(2)) {
            Tensor inputs = Models.inputs(0, 4).to(ScalarType.Double);
            parallel.module().to(ScalarType.Double, false);
            assertThatThrownBy(() -> parallel.forward(Models.Net::forward, inputs))
                    .hasStackTraceContaining("\"dense1.bias\" with shape [8] and type float32, expected shape [8] and"
                            + " type float64 as replica 0 has now: convert all replicas() alike");

            parallel.replicas().get(1).to(ScalarType.Double, false);
            assertThat(parallel.forward(Models.Net::forward, inputs)
                            .scalar_type()
                            .intern())
                    .isEqualTo(ScalarType.Double);
        }
    }

    private static void assertRefused(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String... words) {
        assertThatThrownBy(call)
                .isInstanceOf(HvdException.class)
                .hasMessageContaining(ErrorId.BAD_ARGUMENT.code())
                .hasMessageContainingAll(words);
    }
}
