package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.cuda.SimulatedGpu;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The memory of results from its allocation to the end, with a simulated GPU and Java's own garbage collector. */
@Timeout(60)
class RankGpuTest {
    private static final long BLOCK_BYTES = 4_096;

    private final SimulatedGpu simulated = new SimulatedGpu();

    private RankGpu opened() {
        return new RankGpu(
                simulated.device(), SimulatedRanks.GPU, HvdConfig.from(Map.of()).gpu(), simulated::recordAfterAllWork);
    }

    private static Tensor output(RankGpu gpu) {
        return gpu.output(DType.FLOAT32, Shape.of(BLOCK_BYTES / 4));
    }

    /** Collects garbage until this is true. */
    private void collectUntil(RankGpu gpu, BooleanSupplier reached) throws InterruptedException {
        long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!reached.getAsBoolean() && System.nanoTime() < giveUp) {
            System.gc();
            TimeUnit.MILLISECONDS.sleep(5);
            gpu.begin(List.of());
            simulated.awaitAll();
        }
        assertThat(reached.getAsBoolean()).isTrue();
    }

    @Test
    void laterResultsTakeTheMemoryOfResultsThatNobodyHoldsAndCloseFreesIt() throws Exception {
        RankGpu gpu = opened();
        int before = simulated.blocks();
        Tensor held = output(gpu);
        long address = gpu.address(held);
        for (int i = 0; i < 20; i++) {
            output(gpu);
        }
        collectUntil(gpu, () -> gpu.results().freeBytes() == 20 * BLOCK_BYTES);
        assertThat(simulated.blocks() - before).isEqualTo(21);

        for (int i = 0; i < 20; i++) {
            assertThat(gpu.address(output(gpu))).isNotEqualTo(address);
        }
        assertThat(gpu.results()).isEqualTo(new BlockPool.Counts(21, 20, 0, 0));

        collectUntil(gpu, () -> gpu.results().freeBytes() == 20 * BLOCK_BYTES);
        assertThat(gpu.address(held)).isEqualTo(address);
        gpu.close();
        assertThat(simulated.blocks() - before).as("what the program holds").isEqualTo(1);
        assertThat(gpu.results().freed()).isEqualTo(20);
    }

    /** A rank that has joined makes the elements on its communication thread, while its stream waits for other ranks. */
    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"UINT8", "INT16", "INT32", "FLOAT32", "INT64", "FLOAT64"})
    void neutralElementsAreFilledWithoutWaitingForTheStream(DType type) throws Exception {
        RankGpu gpu = opened();
        gpu.enter();
        CountDownLatch otherRank = new CountDownLatch(1);
        simulated.enqueue(gpu.stream(), () -> {
            try {
                otherRank.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });

        Tensor filled = gpu.filled(three(type), Shape.of(1001));
        float before = simulated.read(gpu.address(filled), type, filled.shape()).toFloatArray()[0];
        otherRank.countDown();
        simulated.awaitStream(gpu.stream());

        assertThat(before).isNotEqualTo(3);
        float[] after =
                simulated.read(gpu.address(filled), type, filled.shape()).toFloatArray();
        assertThat(after).hasSize(1001).containsOnly(3);
        assertThat(simulated.failure()).isNull();
    }

    private static Tensor three(DType type) {
        return switch (type) {
            case UINT8 -> Tensor.ofBytes(new byte[] {3});
            case INT16 -> Tensor.ofShorts(new short[] {3});
            case INT32 -> Tensor.of(3);
            case INT64 -> Tensor.of(3L);
            case FLOAT32 -> Tensor.of(3f);
            default -> Tensor.of(3.0);
        };
    }
}
