package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.engine.Engine;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.Ops;
import io.hvd.engine.submission.Outcome;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.trace.FlightRecorder;
import io.hvd.transport.nccl.SimulatedRanks.Layout;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rank 0 has run out of data, and the others go on with tensors on simulated GPUs. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class GpuJoinTest {
    /** More than a stage holds, so that a rank which took another way would make other calls than the rest. */
    private static final int LARGE = 3001;

    @ParameterizedTest
    @CsvSource({"nccl, 0, INITIAL", "nccl, 0, ACTIVE", "nccl, 1, ACTIVE", "host, 0, INITIAL", "host, 0, ACTIVE"})
    void aRankThatHasJoinedChangesNoResultOnAGpu(String way, String asynchronous, JoinDivisor divisor)
            throws Exception {
        Map<String, String> settings = Map.of("HOROVOD_ENABLE_ASYNC_COMPLETION", asynchronous);
        goOnWithoutRank0(Layout.oneNode(3), way, settings, divisor);
    }

    @ParameterizedTest
    @ValueSource(strings = {"HOROVOD_HIERARCHICAL_ALLREDUCE", "HOROVOD_TORUS_ALLREDUCE"})
    void norDoesItInAnAllreduceOfTwoLevels(String setting) throws Exception {
        Layout twoNodes = new Layout(List.of("a", "a", "b", "b"), 1);
        goOnWithoutRank0(twoNodes, "nccl", Map.of(setting, "1"), JoinDivisor.ACTIVE);
    }

    private static void goOnWithoutRank0(Layout layout, String way, Map<String, String> settings, JoinDivisor divisor)
            throws Exception {
        ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
        CyclicBarrier end = new CyclicBarrier(layout.nodes().size());
        SimulatedRanks.runToFailure(layout, way, settings, rank -> {
            Engine engine = new Engine(
                    rank.backend(),
                    List.of(),
                    HvdConfig.from(Map.of()).engine(),
                    new FlightRecorder(16),
                    failures::add);
            Thread thread = new Thread(engine::run, "gpu-join-test");
            thread.setDaemon(true);
            thread.start();
            if (rank.rank() > 0) {
                goOn(rank, engine, divisor);
            }
            assertThat(join(rank, engine, divisor).number()).isPositive();
            end.await(30, TimeUnit.SECONDS);
            assertThat(rank.gpu().failure()).isNull();
            engine.fail("the test is over", 500);
        });
        assertThat(failures).allMatch(why -> why.contains("the test is over"));
    }

    private static Outcome join(SimulatedRanks.Rank rank, Engine engine, JoinDivisor divisor) throws Exception {
        CompletableFuture<Outcome> end =
                Ops.submit(engine, all(rank), new Request.Join("join", divisor), null, null, true);
        return end.get(40, TimeUnit.SECONDS);
    }

    private static List<Integer> all(SimulatedRanks.Rank rank) {
        return IntStream.range(0, rank.size()).boxed().toList();
    }

    /** Rank r brings r + 1. */
    private static void goOn(SimulatedRanks.Rank rank, Engine engine, JoinDivisor divisor) throws Exception {
        int size = rank.size();
        int sum = IntStream.rangeClosed(2, size).sum();
        int product = IntStream.rangeClosed(2, size).reduce(1, (a, b) -> a * b);
        int divided = divisor == JoinDivisor.ACTIVE ? size - 1 : size;
        for (int elements : new int[] {0, 1, 37, LARGE}) {
            for (DType type : List.of(DType.FLOAT32, DType.INT32, DType.INT16, DType.FLOAT64, DType.UINT8)) {
                check(rank, engine, type, elements, new Reduction(ReduceOp.SUM, type, 1, 1), sum);
                check(rank, engine, type, elements, new Reduction(ReduceOp.SUM, type, 2, 1), 2 * sum);
                check(rank, engine, type, elements, new Reduction(ReduceOp.SUM, type, 1, 3), 3 * sum);
                check(rank, engine, type, elements, new Reduction(ReduceOp.MIN, type, 1, 1), 2);
                check(rank, engine, type, elements, new Reduction(ReduceOp.MAX, type, 1, 1), size);
                check(rank, engine, type, elements, new Reduction(ReduceOp.PRODUCT, type, 1, 1), product);
                check(rank, engine, type, elements, new Reduction(ReduceOp.PRODUCT, type, 2, 1), product << (size - 1));
            }
            DType type = DType.FLOAT32;
            check(rank, engine, type, elements, new Reduction(ReduceOp.MIN, type, -1, 1), -size);
            check(rank, engine, type, elements, new Reduction(ReduceOp.MAX, type, -1, 1), -2);
            check(rank, engine, type, elements, new Reduction(ReduceOp.AVERAGE, type, 6, 1), 6f * sum / divided);
            check(
                    rank,
                    engine,
                    type,
                    elements,
                    new Reduction(ReduceOp.AVERAGE, DType.FLOAT16, 6, 1),
                    6f * sum / divided);
        }
    }

    /** Two tensors, which travel as one batch or not, beside what rank 0 stands in for. */
    private static void check(
            SimulatedRanks.Rank rank, Engine engine, DType type, int elements, Reduction how, float expected)
            throws Exception {
        List<CompletableFuture<Outcome>> ends = new ArrayList<>();
        for (String name : List.of("a", "b")) {
            Tensor input = rank.up(filled(type, elements, rank.rank() + 1));
            Request request = Request.reduction(name, OpKind.ALLREDUCE, input, how);
            ends.add(Ops.submit(engine, all(rank), request, input, null, true));
            Ops.hurry(engine, name);
        }
        for (CompletableFuture<Outcome> end : ends) {
            Tensor found = end.get(40, TimeUnit.SECONDS).tensor();
            assertThat(found.device()).isEqualTo(Device.cuda(0));
            rank.gpu().awaitStream(0);
            assertThat(rank.down(found).toFloatArray())
                    .as("%s of %s, %s elements", how, type, elements)
                    .hasSize(elements)
                    .satisfies(values -> IntStream.range(0, elements)
                            .forEach(i -> assertThat(values[i])
                                    .isCloseTo(expected, org.assertj.core.data.Offset.offset(0.01f))));
        }
    }

    private static Tensor filled(DType type, int elements, int value) {
        Object array = Array.newInstance(type.arrayType().getComponentType(), elements);
        for (int i = 0; i < elements; i++) {
            switch (type) {
                case FLOAT32 -> ((float[]) array)[i] = value;
                case FLOAT64 -> ((double[]) array)[i] = value;
                case INT32 -> ((int[]) array)[i] = value;
                case INT16 -> ((short[]) array)[i] = (short) value;
                default -> ((byte[]) array)[i] = (byte) value;
            }
        }
        return Tensor.wrap(array, type, Shape.of(elements));
    }
}
