package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.Activities;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When a simulated GPU has worked on what, as the timeline is told. */
@Timeout(60)
class DeviceTimesTest {
    private static final Reduction SUM = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);

    /** Remembers what it hears. @param onHost the names of activities of the host */
    private record Heard(List<String> onHost, List<Work> onDevice) implements Activities {
        private record Work(String device, String name, long from, long to) {}

        Heard() {
            this(new ArrayList<>(), new ArrayList<>());
        }

        @Override
        public long begin() {
            return System.nanoTime();
        }

        @Override
        public void end(String name, long begun) {
            onHost.add(name);
        }

        @Override
        public Later later() {
            return (device, name, from, to) -> onDevice.add(new Work(device, name, from, to));
        }

        List<String> names() {
            return onDevice.stream().map(Work::name).toList();
        }

        void forget() {
            onHost.clear();
            onDevice.clear();
        }

        void requireOrder() {
            for (int i = 0; i < onDevice.size(); i++) {
                Work work = onDevice.get(i);
                assertThat(work.from()).isLessThanOrEqualTo(work.to());
                assertThat(i == 0 || onDevice.get(i - 1).to() <= work.from() + 100_000)
                        .isTrue();
            }
        }
    }

    @Test
    void partsOfAnAllreduceOverAStageAreTold() throws Exception {
        SimulatedRanks.run(2, "nccl", Map.of(), rank -> {
            Heard heard = new Heard();
            rank.data().report(heard);
            Tensor a = rank.up(Tensor.of(1f, 2f));
            Tensor b = rank.up(Tensor.of(3f));
            learnTheClock(rank, a, heard);
            for (int i = 0; i < 3; i++) {
                long begun = System.nanoTime();
                rank.data().allreduce(List.of(a, b), List.of(a, b), SUM);
                rank.settle(rank.data());
                long ended = System.nanoTime();
                assertThat(heard.onDevice())
                        .hasSize(3 * (i + 1))
                        .allMatch(work -> work.device().equals("cuda:0"));
                assertThat(heard.onDevice().get(3 * i).from()).isGreaterThan(begun - 1_000_000);
                assertThat(heard.onDevice().get(3 * i + 2).to()).isLessThanOrEqualTo(ended);
            }
            assertThat(heard.names())
                    .startsWith("MEMCPY_IN_FUSION_BUFFER", "NCCL_ALLREDUCE", "MEMCPY_OUT_FUSION_BUFFER");
            assertThat(heard.onHost())
                    .containsExactly("ENQUEUE_NCCL_ALLREDUCE", "ENQUEUE_NCCL_ALLREDUCE", "ENQUEUE_NCCL_ALLREDUCE");
            heard.requireOrder();
        });
    }

    /** The program's own work comes first on the stream, and is no part of it. */
    @Test
    void theTimeForWhichTheGpuWaitsForTheProgramsWorkIsNotNccls() throws Exception {
        SimulatedRanks.run(1, "nccl", Map.of(), rank -> {
            Heard heard = new Heard();
            rank.data().report(heard);
            Tensor tensor = rank.up(Tensor.of(1f));
            learnTheClock(rank, tensor, heard);

            CountDownLatch backward = new CountDownLatch(1);
            rank.gpu().enqueue(0, () -> await(backward));
            rank.data().allreduce(List.of(tensor), List.of(tensor), SUM);
            Thread.sleep(30);
            long let = System.nanoTime();
            backward.countDown();
            rank.settle(rank.data());

            assertThat(heard.names()).containsExactly("NCCL_ALLREDUCE");
            assertThat(heard.onDevice().get(0).from()).isGreaterThan(let - 5_000_000);
        });
    }

    /** Of so many looks one was not held up, on a busy machine too: then the device's clock is known. */
    private static void learnTheClock(SimulatedRanks.Rank rank, Tensor tensor, Heard heard)
            throws InterruptedException {
        for (int i = 0; i < 50; i++) {
            rank.data().allreduce(List.of(tensor), List.of(tensor), SUM);
            rank.settle(rank.data());
        }
        heard.forget();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "1"})
    void eventsAreDestroyedAndWhoDoesNotListenHasNone(String asynchronous) throws Exception {
        SimulatedRanks.run(2, "nccl", Map.of("HOROVOD_ENABLE_ASYNC_COMPLETION", asynchronous), rank -> {
            DataPlane data = rank.data();
            Tensor tensor = rank.up(Tensor.of(1f, 2f));
            data.allreduce(List.of(tensor), List.of(tensor), SUM);
            rank.settle(data);
            int before = rank.gpu().livingEvents();
            for (boolean listens : new boolean[] {false, true}) {
                Heard heard = new Heard();
                data.report(listens ? heard : Activities.UNHEARD);
                for (int i = 0; i < 10; i++) {
                    data.allreduce(List.of(tensor), List.of(tensor), SUM);
                    rank.settle(data);
                }
                rank.gpu().awaitAll();
                data.report(Activities.UNHEARD);
                data.allreduce(List.of(tensor), List.of(tensor), SUM);
                rank.settle(data);
                assertThat(heard.onDevice()).hasSize(listens ? 10 : 0);
                // The one from which times are counted stays.
                assertThat(rank.gpu().livingEvents() - before).isEqualTo(listens ? 1 : 0);
            }
        });
    }
}
