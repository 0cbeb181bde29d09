package io.hvd.backend.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.engine.Engine;
import io.hvd.engine.Ops;
import io.hvd.engine.Outcome;
import io.hvd.engine.Request;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.trace.FlightRecorder;
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

/** Rank 0 has run out of data, and the others go on with tensors on simulated GPUs. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class GpuJoinTest {
    private static final int SIZE = 3;

    /** More than a stage holds, so that a rank which took another way would make other calls than the rest. */
    private static final int LARGE = 3001;

    @ParameterizedTest
    @CsvSource({"nccl, 0, INITIAL", "nccl, 0, ACTIVE", "nccl, 1, ACTIVE", "host, 0, INITIAL", "host, 0, ACTIVE"})
    void aRankThatHasJoinedChangesNoResultOnAGpu(String way, String asynchronous, JoinDivisor divisor)
            throws Exception {
        ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
        CyclicBarrier end = new CyclicBarrier(SIZE);
        Map<String, String> settings = Map.of("HOROVOD_ENABLE_ASYNC_COMPLETION", asynchronous);
        SimulatedRanks.runToFailure(SIZE, way, settings, rank -> {
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
            assertThat(join(engine, divisor).number()).isPositive();
            end.await(30, TimeUnit.SECONDS);
            assertThat(rank.gpu().failure()).isNull();
            engine.fail("the test is over", 500);
        });
        assertThat(failures).allMatch(why -> why.contains("the test is over"));
    }

    private static Outcome join(Engine engine, JoinDivisor divisor) throws Exception {
        CompletableFuture<Outcome> end =
                Ops.submit(engine, List.of(0, 1, 2), new Request.Join("join", divisor), null, null, true);
        return end.get(40, TimeUnit.SECONDS);
    }

    private static void goOn(SimulatedRanks.Rank rank, Engine engine, JoinDivisor divisor) throws Exception {
        int divided = divisor == JoinDivisor.ACTIVE ? SIZE - 1 : SIZE;
        for (int elements : new int[] {0, 1, 37, LARGE}) {
            for (DType type : List.of(DType.FLOAT32, DType.INT32, DType.INT16, DType.FLOAT64, DType.UINT8)) {
                // Rank 1 brings 2 and rank 2 brings 3.
                check(rank, engine, type, elements, new Reduction(ReduceOp.SUM, type, 1, 1), 5);
                check(rank, engine, type, elements, new Reduction(ReduceOp.SUM, type, 2, 1), 10);
                check(rank, engine, type, elements, new Reduction(ReduceOp.SUM, type, 1, 3), 15);
                check(rank, engine, type, elements, new Reduction(ReduceOp.MIN, type, 1, 1), 2);
                check(rank, engine, type, elements, new Reduction(ReduceOp.MAX, type, 1, 1), 3);
                check(rank, engine, type, elements, new Reduction(ReduceOp.PRODUCT, type, 1, 1), 6);
                check(rank, engine, type, elements, new Reduction(ReduceOp.PRODUCT, type, 2, 1), 24);
            }
            DType type = DType.FLOAT32;
            check(rank, engine, type, elements, new Reduction(ReduceOp.MIN, type, -1, 1), -3);
            check(rank, engine, type, elements, new Reduction(ReduceOp.MAX, type, -1, 1), -2);
            check(rank, engine, type, elements, new Reduction(ReduceOp.AVERAGE, type, 6, 1), 30f / divided);
            check(rank, engine, type, elements, new Reduction(ReduceOp.AVERAGE, DType.FLOAT16, 6, 1), 30f / divided);
        }
    }

    /** Two tensors, which travel as one batch or not, beside what rank 0 stands in for. */
    private static void check(
            SimulatedRanks.Rank rank, Engine engine, DType type, int elements, Reduction how, float expected)
            throws Exception {
        List<CompletableFuture<Outcome>> ends = new ArrayList<>();
        for (String name : List.of("a", "b")) {
            Tensor input = rank.up(filled(type, elements, rank.rank() + 1));
            Request request = Request.reduction(name, OpKind.ALLREDUCE, input, how, 0);
            ends.add(Ops.submit(engine, List.of(0, 1, 2), request, input, null, true));
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
