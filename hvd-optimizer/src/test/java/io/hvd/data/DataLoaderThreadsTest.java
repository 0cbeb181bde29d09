package io.hvd.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How a loader's threads begin, stay within their bounds and end. */
@Timeout(60)
class DataLoaderThreadsTest {

    @AfterEach
    void noWorkerIsLeft() {
        assertThat(WorkerThreads.alive()).isEmpty();
    }

    @Test
    void withoutWorkersEverythingRunsOnTheCallersThread() {
        Queue<Thread> readers = new ConcurrentLinkedQueue<>();
        try (var loader =
                loader(10, index -> readers.add(Thread.currentThread())).build()) {
            Epoch<Integer> epoch = loader.iterator();
            assertThat(readers).as("nothing is read before it is asked for").isEmpty();
            epoch.forEachRemaining(batch -> {});
        }

        assertThat(readers).hasSize(10).containsOnly(Thread.currentThread());
    }

    @Test
    void workersAreNamedDaemons() {
        var together = new CyclicBarrier(3);
        Queue<Thread> readers = new ConcurrentLinkedQueue<>();
        try (var loader = loader(3, index -> {
                    readers.add(Thread.currentThread());
                    together.await();
                })
                .workers(3)
                .build()) {
            loader.forEach(batch -> {});
        }

        assertThat(readers).allMatch(Thread::isDaemon);
        assertThat(readers)
                .extracting(Thread::getName)
                .containsExactlyInAnyOrder("hvd-loader-0", "hvd-loader-1", "hvd-loader-2");
    }

    @Test
    void aSlowBatchDoesNotChangeTheOrder() {
        var secondIsRead = new CountDownLatch(1);
        try (var loader = loader(2, index -> {
                    if (index == 0) {
                        secondIsRead.await();
                    } else {
                        secondIsRead.countDown();
                    }
                })
                .workers(2)
                .build()) {
            assertThat(loader).containsExactly(0, 1);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void noMoreIsReadAheadThanPrefetchAllows(int prefetch) throws Exception {
        var reads = new Semaphore(0);
        try (var loader = loader(100, index -> reads.release())
                .workers(4)
                .prefetch(prefetch)
                .build()) {
            Epoch<Integer> epoch = loader.iterator();
            reads.acquire(prefetch);
            for (int taken = 0; taken < 10; taken++) {
                epoch.next();
                reads.acquire(1);
            }
        }

        assertThat(reads.availablePermits()).as("reads beyond the bound").isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void neverMoreThreadsReadThanThereAreWorkers(int workers) {
        var reading = new AtomicInteger();
        var most = new AtomicInteger();
        try (var loader = loader(64, index -> {
                    most.accumulateAndGet(reading.incrementAndGet(), Math::max);
                    Thread.yield();
                    reading.decrementAndGet();
                })
                .workers(workers)
                .prefetch(16)
                .build()) {
            for (int epoch = 0; epoch < 20; epoch++) {
                loader.iterator().next();
            }
        }

        assertThat(most.get()).isBetween(1, workers);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4})
    void loopsMayBeLeftHalfWayAsOftenAsOneLikes(int workers) {
        try (var loader = loader(100, index -> Thread.yield()).workers(workers).build()) {
            for (int epoch = 0; epoch < 300; epoch++) {
                int wanted = epoch % 7;
                int expected = 0;
                for (int batch : loader) {
                    assertThat(batch).isEqualTo(expected++);
                    if (expected > wanted) {
                        break;
                    }
                }
                assertThat(WorkerThreads.alive()).hasSizeLessThanOrEqualTo(workers);
            }
        }
    }

    @Test
    void anAbandonedLoaderLeavesNoThread() throws Exception {
        var loader = loader(100, index -> {}).workers(2).build();
        loader.iterator().next();

        for (Thread worker : WorkerThreads.alive()) {
            worker.join(Duration.ofSeconds(30).toMillis());
        }
        assertThat(WorkerThreads.alive()).isEmpty();

        assertThat(loader).as("it works again with new threads").hasSize(100);
        loader.close();
    }

    @Test
    void anEndedEpochStopsBeforeTheNextSample() throws Exception {
        var reads = new Semaphore(0);
        var goOn = new Semaphore(0);
        try (var loader = loader(100, index -> {
                    reads.release();
                    goOn.acquire();
                })
                .batchSize(50)
                .workers(1)
                .build()) {
            Epoch<Integer> epoch = loader.iterator();
            reads.acquire();
            epoch.close();
            goOn.release(1000);
        }

        assertThat(reads.availablePermits()).as("samples read after the end").isZero();
    }

    @Test
    void closingInterruptsAReadThatDoesNotEnd() throws Exception {
        var reading = new CountDownLatch(1);
        var never = new CountDownLatch(1);
        var interrupted = new CountDownLatch(1);
        var loader = loader(10, index -> {
                    reading.countDown();
                    try {
                        never.await();
                    } catch (InterruptedException e) {
                        interrupted.countDown();
                        throw e;
                    }
                })
                .workers(1)
                .build();
        loader.iterator();
        reading.await();

        loader.close();

        assertThat(interrupted.getCount()).isZero();
        assertThat(WorkerThreads.alive()).isEmpty();
    }

    @Test
    void closingLetsAReadThatEndsSoonEndInPeace() throws Exception {
        Thread closer = Thread.currentThread();
        var reading = new CountDownLatch(1);
        var interrupted = new AtomicReference<Boolean>();
        var loader = loader(10, index -> {
                    reading.countDown();
                    while (closer.getState() != Thread.State.TIMED_WAITING
                            && !Thread.currentThread().isInterrupted()) {
                        Thread.onSpinWait();
                    }
                    interrupted.set(Thread.currentThread().isInterrupted());
                })
                .workers(1)
                .build();
        loader.iterator();
        reading.await();

        loader.close();

        assertThat(interrupted).hasValue(false);
    }

    @Test
    void anInterruptEndsTheWaitAndStaysSet() throws Exception {
        var reading = new CountDownLatch(1);
        var never = new CountDownLatch(1);
        try (var loader = loader(10, index -> {
                    reading.countDown();
                    never.await();
                })
                .workers(1)
                .build()) {
            Epoch<Integer> epoch = loader.iterator();
            reading.await();
            Thread.currentThread().interrupt();

            assertThatThrownBy(epoch::next)
                    .isInstanceOf(DataLoaderException.class)
                    .hasMessageContainingAll("interrupted", "batch 0")
                    .hasCauseInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).as("interrupt status").isTrue();
            assertThat(epoch.hasNext()).isFalse();
        }
    }

    @Test
    void anInterruptWithoutWorkersReachesTheReadAndStaysSet() {
        try (var loader = loader(10, index -> {
                    Thread.currentThread().interrupt();
                    new CountDownLatch(1).await();
                })
                .build()) {
            Epoch<Integer> epoch = loader.iterator();

            assertThatThrownBy(epoch::next).hasCauseInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).as("interrupt status").isTrue();
        }
    }

    @Test
    void closingFromAnotherThreadFreesTheOneThatWaits() throws Exception {
        var reading = new CountDownLatch(1);
        var never = new CountDownLatch(1);
        var loader = loader(10, index -> {
                    reading.countDown();
                    never.await();
                })
                .workers(1)
                .build();
        var failure = new AtomicReference<Throwable>();
        var waiting = new Thread(() -> loader.forEach(batch -> {}), "waits for a batch");
        waiting.setUncaughtExceptionHandler((thread, e) -> failure.set(e));
        waiting.start();
        reading.await();

        loader.close();
        waiting.join(Duration.ofSeconds(30).toMillis());

        assertThat(failure.get()).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4})
    void everyBatchIsEitherTheCallersOrClosed(int workers) {
        var made = new AtomicInteger();
        Queue<NativeBatch> taken = new ConcurrentLinkedQueue<>();
        var closed = new AtomicInteger();
        Function<List<Integer>, NativeBatch> collate = samples -> {
            made.incrementAndGet();
            return new NativeBatch(closed);
        };
        try (var loader = DataLoader.builder(
                        new Watched(50, index -> Thread.yield()), new EvalSampler(50, 1, 0), collate)
                .workers(workers)
                .build()) {
            for (int epoch = 0; epoch < 200; epoch++) {
                Epoch<NativeBatch> batches = loader.iterator();
                for (int i = 0; i < epoch % 5; i++) {
                    taken.add(batches.next());
                }
            }
        }

        assertThat(taken).hasSize(400).noneMatch(NativeBatch::isClosed);
        assertThat(closed).hasValue(made.get() - taken.size());
    }

    @Test
    void manyLoadersRunAtOnce() throws Exception {
        int ranks = 4;
        Queue<Integer> seen = new ConcurrentLinkedQueue<>();
        var start = new CyclicBarrier(ranks);
        var threads = new Thread[ranks];
        for (int rank = 0; rank < ranks; rank++) {
            var sampler = new DistributedSampler(200, ranks, rank);
            threads[rank] = new Thread(() -> {
                await(start);
                try (var loader = DataLoader.builder(new Watched(200, index -> {}), sampler, first())
                        .workers(2)
                        .build()) {
                    for (int epoch = 0; epoch < 20; epoch++) {
                        loader.forEach(seen::add);
                    }
                }
            });
            threads[rank].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }

        int[] counts = new int[200];
        seen.forEach(index -> counts[index]++);
        assertThat(counts).containsOnly(20);
    }

    private static DataLoader.Builder<Integer, Integer> loader(int size, Reading reading) {
        return DataLoader.builder(new Watched(size, reading), new EvalSampler(size, 1, 0), first());
    }

    private static Function<List<Integer>, Integer> first() {
        return samples -> samples.get(0);
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }

    private interface Reading {
        void of(int index) throws Exception;
    }

    /** Every sample is its own index; the test looks on while it is read. */
    private record Watched(int size, Reading reading) implements Dataset<Integer> {

        @Override
        public Integer get(int index) throws Exception {
            reading.of(index);
            return index;
        }
    }

    /** Stands for a batch of native tensors. */
    private static final class NativeBatch implements AutoCloseable {

        private final AtomicInteger closedBatches;
        private volatile boolean closed;

        NativeBatch(AtomicInteger closedBatches) {
            this.closedBatches = closedBatches;
        }

        boolean isClosed() {
            return closed;
        }

        @Override
        public void close() {
            assertThat(closed).as("closed twice").isFalse();
            closed = true;
            closedBatches.incrementAndGet();
        }
    }
}
