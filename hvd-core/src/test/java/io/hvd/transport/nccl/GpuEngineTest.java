package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.engine.Engine;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.Ops;
import io.hvd.engine.submission.Outcome;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.trace.FlightRecorder;
import io.hvd.trace.TraceListener;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
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
        Map<String, String> completion = Map.of("HOROVOD_ENABLE_ASYNC_COMPLETION", asynchronous);
        SimulatedRanks.runToFailure(SIZE, way, completion, rank -> {
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
            assertThat(rank.gpu().failure()).isNull();
            engine.fail("the test is over", 500);
        });
        assertThat(failures).allMatch(why -> why.contains("the test is over"));
    }

    /** Before the batch ends for the program, in negotiated steps and in those of a static plan. */
    @Test
    void theTimelineHearsWhenTheGpuHasWorkedOnEachBatch() throws Exception {
        CyclicBarrier end = new CyclicBarrier(SIZE);
        SimulatedRanks.runToFailure(SIZE, "nccl", Map.of(), rank -> {
            List<String> heard = Collections.synchronizedList(new ArrayList<>());
            FlightRecorder recorder = new FlightRecorder(16);
            recorder.listen(listener(heard));
            HvdConfig settings = HvdConfig.from(Map.of("HVD_STATIC_PLAN_STEPS", "3"));
            Engine engine = new Engine(rank.backend(), List.of(), settings.engine(), recorder, why -> {});
            Thread thread = new Thread(engine::run, "gpu-engine-test");
            thread.setDaemon(true);
            thread.start();
            for (int step = 0; step < 8; step++) {
                step(rank, engine, step);
                // The first batch that ends has been worked on before.
                assertThat(heard).contains("NCCL_ALLREDUCE on cuda:0");
                assertThat(heard.indexOf("NCCL_ALLREDUCE on cuda:0")).isLessThan(heard.indexOf("end"));
                assertThat(heard).filteredOn("end"::equals).hasSize(3);
                heard.clear();
            }
            end.await(20, TimeUnit.SECONDS);
            engine.fail("the test is over", 500);
        });
    }

    private static TraceListener listener(List<String> heard) {
        return (TraceListener) Proxy.newProxyInstance(
                TraceListener.class.getClassLoader(), new Class<?>[] {TraceListener.class}, (proxy, method, given) -> {
                    if (method.getName().equals("onDevice")) {
                        TraceListener.OnDevice work = (TraceListener.OnDevice) given[1];
                        assertThat(work.fromNanos()).isLessThanOrEqualTo(work.toNanos());
                        heard.add(work.name() + " on " + work.device());
                    } else if (method.getName().equals("ended")) {
                        heard.add("end");
                    }
                    return null;
                });
    }

    @Test
    void aBrokenDeviceFailsTheOperationsOfAllRanksAndLeavesNobodyInsideAKernel() throws Exception {
        ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
        CountDownLatch gradient = new CountDownLatch(1);
        CountDownLatch inKernel = new CountDownLatch(1);
        SimulatedRanks.runToFailure(SIZE, "nccl", Map.of(), rank -> {
            Engine engine = new Engine(
                    rank.backend(), List.of(), HvdConfig.from(Map.of()).engine(), new FlightRecorder(16), why -> {
                        failures.add(why);
                        rank.backend().abandon(why);
                    });
            Thread thread = new Thread(engine::run, "gpu-engine-test");
            thread.setDaemon(true);
            thread.start();
            if (rank.rank() == 0) {
                // Rank 1 is in NCCL's kernel meanwhile, where rank 0 never comes.
                rank.gpu().enqueue(0, () -> await(gradient));
            }
            CompletableFuture<Outcome> sum = submit(engine, "w", rank.up(Tensor.of(1f, 2f)));
            if (rank.rank() == 0) {
                rank.gpu().enqueue(rank.gpu().createStream(), () -> {
                    await(inKernel);
                    throw new IllegalStateException("Xid 79: the GPU has fallen off the bus");
                });
            } else {
                rank.nccl().awaitArrival();
                inKernel.countDown();
            }
            assertThatThrownBy(() -> sum.get(20, TimeUnit.SECONDS))
                    .cause()
                    .isInstanceOf(rank.rank() == 0 ? HvdException.class : ShutdownException.class)
                    .hasMessageContaining("allreduce of [w] failed on rank 0")
                    .hasMessageContaining("the simulated device has failed");
            thread.join(TimeUnit.SECONDS.toMillis(20));
            assertThat(thread.isAlive()).isFalse();
            if (rank.rank() == 1) {
                rank.gpu().awaitAll();
                gradient.countDown();
                assertThat(rank.gpu().failure()).hasMessageContaining("aborted");
            }
        });
        assertThat(failures).isNotEmpty().allMatch(why -> why.contains("the simulated device has failed"));
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static CompletableFuture<Outcome> submit(Engine engine, String name, Tensor input) {
        Reduction how = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);
        Request request = Request.reduction(name, OpKind.ALLREDUCE, input, how);
        CompletableFuture<Outcome> sum = Ops.submit(engine, List.of(0, 1), request, input, null, true);
        Ops.hurry(engine, name);
        return sum;
    }

    private static void step(SimulatedRanks.Rank rank, Engine engine, int step) throws Exception {
        List<Tensor> inputs = new ArrayList<>();
        List<CompletableFuture<Outcome>> sums = new ArrayList<>();
        for (String name : List.of("a", "b", "c")) {
            Tensor input = rank.up(Tensor.of((float) step + rank.rank(), (float) name.charAt(0)));
            inputs.add(input);
            sums.add(submit(engine, name, input));
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
