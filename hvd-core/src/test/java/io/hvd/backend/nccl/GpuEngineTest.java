package io.hvd.backend.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.engine.Engine;
import io.hvd.engine.Outcome;
import io.hvd.engine.Request;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.trace.FlightRecorder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The engine over simulated GPUs: steps that settle into a static plan, results in memory that hvd makes. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class GpuEngineTest {
    private static final int SIZE = 2;

    @ParameterizedTest
    @CsvSource({"nccl, 0", "nccl, 1", "host, 0"})
    void stepsOnGpusGoOnWithoutNegotiationAndLeaveInputsAlone(String way, String asynchronous) throws Exception {
        ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
        CyclicBarrier end = new CyclicBarrier(SIZE);
        SimulatedRanks.run(SIZE, way, Map.of("HOROVOD_ENABLE_ASYNC_COMPLETION", asynchronous), rank -> {
            HvdConfig settings = HvdConfig.from(Map.of("HVD_STATIC_PLAN_STEPS", "3"));
            Engine engine =
                    new Engine(rank.backend(), List.of(), settings.engine(), new FlightRecorder(16), failures::add);
            Thread thread = new Thread(engine::run, "gpu-engine-test");
            thread.setDaemon(true);
            thread.start();
            for (int step = 0; step < 12; step++) {
                step(rank, engine, step);
            }
            // The other rank may not have its last sums yet.
            end.await(20, TimeUnit.SECONDS);
            engine.fail("the test is over", 10_000);
        });
        assertThat(failures).allMatch(why -> why.contains("the test is over"));
    }

    private static void step(SimulatedRanks.Rank rank, Engine engine, int step) throws Exception {
        List<Tensor> inputs = new ArrayList<>();
        List<CompletableFuture<Outcome>> sums = new ArrayList<>();
        for (String name : List.of("a", "b", "c")) {
            Tensor input = rank.up(Tensor.of((float) step + rank.rank(), (float) name.charAt(0)));
            inputs.add(input);
            Reduction how = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);
            Request request = Request.reduction(name, OpKind.ALLREDUCE, input, how, 0);
            sums.add(engine.submit(new Engine.Submission(0, List.of(0, 1), request, input, null), true));
            engine.hurry(0, name);
        }
        for (int i = 0; i < sums.size(); i++) {
            Tensor sum = sums.get(i).get(20, TimeUnit.SECONDS).tensor();
            assertThat(sum.device()).isEqualTo(Device.cuda(0));
            rank.gpu().awaitStream(0);
            assertThat(rank.down(sum).toFloatArray()).containsExactly(2f * step + 1, 2f * ('a' + i));
            assertThat(rank.down(inputs.get(i)).toFloatArray()[0]).isEqualTo(step + rank.rank());
        }
    }
}
