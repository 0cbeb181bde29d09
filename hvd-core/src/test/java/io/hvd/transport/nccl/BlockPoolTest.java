package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.cuda.CudaDevice;
import io.hvd.cuda.DeviceStage;
import io.hvd.cuda.SimulatedGpu;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The memory of results, on a simulated GPU whose streams dawdle. */
@Timeout(60)
class BlockPoolTest {
    private static final long MOST_BYTES = 64 << 10;
    private static final int[] SIZES = {600, 3_000, 9_000, 20_000};

    private final SimulatedGpu gpu = new SimulatedGpu();
    private final CudaDevice device = gpu.device();
    private final int blocksBefore = gpu.blocks();
    private final int eventsBefore = gpu.livingEvents();
    private final BlockPool pool = pool(MOST_BYTES);

    private BlockPool pool(long mostBytes) {
        return new BlockPool(device::allocate, () -> device.recordEvent(gpu::recordAfterAllWork), mostBytes);
    }

    private int blocks() {
        return gpu.blocks() - blocksBefore;
    }

    @AfterEach
    void everythingIsFreedAtTheEnd() {
        gpu.awaitAll();
        assertThat(gpu.failure()).isNull();
        pool.empty();
        assertThat(pool.counts().freeBytes()).isZero();
        assertThat(gpu.livingEvents()).isEqualTo(eventsBefore);
    }

    private void giveBack(BlockPool to, DeviceStage block) {
        to.giveBack(block);
        to.collect();
        gpu.awaitAll();
    }

    @Test
    void aBlockIsUsedAgainForAboutTheSameSize() {
        DeviceStage first = pool.take(10_000);
        assertThat(first.bytes()).isBetween(10_000L, 11_250L);
        giveBack(pool, first);

        assertThat(pool.take(10_200)).isSameAs(first);
        assertThat(pool.take(10_200)).isNotSameAs(first);
        assertThat(pool.counts()).isEqualTo(new BlockPool.Counts(2, 1, 0, 0));
    }

    @Test
    void sizesAreRoundedUpByAnEighthAtMost() {
        for (long bytes = 1; bytes < MOST_BYTES / 2; bytes += 97) {
            DeviceStage block = pool.take(bytes);
            assertThat(block.bytes()).isBetween(bytes, Math.max(bytes + 511, bytes + bytes / 8));
            block.close();
        }
    }

    /** The stream is one that hvd has never heard of. */
    @Test
    void aBlockRestsWhileWorkOnAnyStreamMayUseIt() throws Exception {
        long users = gpu.createStream();
        CountDownLatch kernel = new CountDownLatch(1);
        DeviceStage block = pool.take(1_000);
        gpu.enqueue(users, () -> await(kernel));

        pool.giveBack(block);
        pool.collect();
        gpu.awaitStream(0);
        DeviceStage other = pool.take(1_000);
        long free = pool.counts().freeBytes();
        kernel.countDown();
        assertThat(other).isNotSameAs(block);
        assertThat(free).isZero();

        gpu.awaitAll();
        assertThat(pool.take(1_000)).isSameAs(block);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void noMoreIsKeptThanAskedForAndTheOldestGoesFirst() {
        List<DeviceStage> blocks = new ArrayList<>();
        for (int i = 0; i < 9; i++) {
            blocks.add(pool.take(MOST_BYTES / 8));
        }
        blocks.forEach(block -> giveBack(pool, block));
        pool.collect();

        assertThat(pool.counts().freeBytes()).isEqualTo(MOST_BYTES / 2);
        assertThat(pool.counts().freed()).isEqualTo(5);
        for (int i = 8; i > 4; i--) {
            assertThat(pool.take(MOST_BYTES / 8)).isSameAs(blocks.get(i));
        }
    }

    @Test
    void aBlockThatIsLargerThanAllThatIsKeptIsFreedAtOnceAndNotRoundedUp() {
        DeviceStage large = pool.take(MOST_BYTES + 1);
        assertThat(large.bytes()).isEqualTo(MOST_BYTES + 1);
        giveBack(pool, large);
        assertThat(blocks()).isZero();
    }

    @Test
    void whereNothingIsKeptOrTheDriverIsTooOldBlocksAreFreedAsTheyCome() {
        for (BlockPool keepsNothing : List.of(pool(0), new BlockPool(device::allocate, null, MOST_BYTES))) {
            DeviceStage block = keepsNothing.take(1_000);
            assertThat(block.bytes()).isEqualTo(1_000);
            giveBack(keepsNothing, block);
            assertThat(blocks()).isZero();
            assertThat(keepsNothing.counts()).isEqualTo(new BlockPool.Counts(1, 0, 1, 0));
        }
    }

    @Test
    void whatRestsIsFreedWhenTheGpuIsFull() {
        gpu.limit(gpu.blocks() + 2);
        pool.giveBack(pool.take(1_000));
        pool.giveBack(pool.take(2_000));
        pool.collect();
        assertThatThrownBy(() -> pool.take(5_000)).isInstanceOf(HvdException.class);

        assertThat(pool.empty()).isTrue();
        assertThat(pool.empty()).isFalse();
        pool.take(5_000).close();
    }

    /**
     * Several streams, of which the pool knows none, write into blocks and read them when they come to it; another
     * thread gives blocks back while that goes on; now and then the GPU is full. A block that had two users at a time
     * would show, since every user writes a number of its own and finds it again.
     */
    @Test
    void noBlockHasTwoUsersAtATime() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        long[] streams = {0, gpu.createStream(), gpu.createStream(), gpu.createStream()};
        ExecutorService collector = Executors.newSingleThreadExecutor();
        List<DeviceStage> held = new ArrayList<>();
        gpu.limit(gpu.blocks() + 40);
        for (int step = 0; step < 2_000; step++) {
            if (random.nextInt(20) < held.size()) {
                DeviceStage gone = held.remove(random.nextInt(held.size()));
                collector.execute(() -> pool.giveBack(gone));
            } else {
                held.add(used(taken(random, held), step, streams, random));
            }
            if (random.nextInt(30) == 0) {
                gpu.enqueue(streams[random.nextInt(streams.length)], () -> LockSupport.parkNanos(4_000_000));
            }
            if (random.nextBoolean()) {
                pool.collect();
                assertThat(pool.counts().freeBytes()).isLessThanOrEqualTo(MOST_BYTES);
                LockSupport.parkNanos(random.nextInt(400_000)); // the streams go on
            }
        }
        collector.shutdown();
        assertThat(collector.awaitTermination(20, TimeUnit.SECONDS)).isTrue();
        gpu.awaitAll();
        assertThat(gpu.failure()).as("seed " + seed).isNull();
        assertThat(pool.counts().reused()).as("seed " + seed).isPositive();
        assertThat(pool.counts().freed()).as("seed " + seed).isPositive();
        held.forEach(DeviceStage::close);
        pool.empty();
        assertThat(blocks()).as("seed " + seed).isZero();
    }

    private DeviceStage taken(Random random, List<DeviceStage> held) {
        while (true) {
            try {
                return pool.take(SIZES[random.nextInt(SIZES.length)] + random.nextInt(50));
            } catch (HvdException full) {
                if (!pool.empty() && !held.isEmpty()) {
                    pool.giveBack(held.remove(0));
                }
            }
        }
    }

    /** Writes a number into the block on one stream, and looks for it on another one and on the first again. */
    private DeviceStage used(DeviceStage block, int number, long[] streams, Random random) {
        long writer = streams[random.nextInt(streams.length)];
        long reader = streams[random.nextInt(streams.length)];
        gpu.enqueue(
                writer,
                () -> gpu.at(block.address()).put(0, (byte) number).put((int) block.bytes() - 1, (byte) number));
        long event = gpu.createEvent();
        gpu.recordEvent(event, writer);
        gpu.holdUntil(reader, event);
        gpu.destroyEvent(event);
        for (long stream : new long[] {reader, writer}) {
            gpu.enqueue(stream, () -> requireNumber(block, (byte) number));
        }
        return block;
    }

    private void requireNumber(DeviceStage block, byte number) {
        byte first = gpu.at(block.address()).get(0);
        byte last = gpu.at(block.address()).get((int) block.bytes() - 1);
        if (first != number || last != number) {
            throw new IllegalStateException("a block of " + block.bytes() + " bytes with " + number
                    + " was overwritten by " + first + " and " + last);
        }
    }
}
