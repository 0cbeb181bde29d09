package io.hvd.host.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.host.local.LocalHub;
import io.hvd.host.memory.Layout.Counter;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** Threads that sleep until they are woken. They sleep without a limit here, so that a wake-up that is lost hangs the test. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class SleepersTest {
    private static final int RANKS = 12;
    private static final Layout LAYOUT = new Layout(RANKS, 64);
    private static final long FOR_EVER = Long.MAX_VALUE;

    private final ByteBuffer memory = ByteBuffer.allocateDirect(LAYOUT.bytes());
    private final Sleepers sleepers = new Sleepers(RANKS);

    private interface Rank {
        void run(Segment segment, int rank);
    }

    private void together(Rank body) {
        List<CompletableFuture<Void>> ranks = new ArrayList<>();
        for (int rank = 0; rank < RANKS; rank++) {
            int own = rank;
            Segment segment = new Segment(LAYOUT, own, memory.duplicate(), sleepers);
            ranks.add(CompletableFuture.runAsync(
                    () -> body.run(segment, own), command -> new Thread(command, "rank " + own).start()));
        }
        ranks.forEach(CompletableFuture::join);
    }

    private static void awaitAll(Segment segment, Counter counter, long round) {
        for (int other = 0; other < RANKS; other++) {
            int awaited = other;
            while (!segment.hasCome(counter, other, round)) {
                segment.sleepUntilAll(counter, () -> segment.hasCome(counter, awaited, round), FOR_EVER);
            }
        }
    }

    private static void await(Segment segment, Counter counter, int other, long round) {
        while (!segment.hasCome(counter, other, round)) {
            segment.sleepUntil(other, () -> segment.hasCome(counter, other, round), FOR_EVER);
        }
    }

    /** In rounds as those of an allreduce: none begins the next but one before all have come to the next. */
    @Test
    void noWakeUpIsLostWhereAllWaitForAll() {
        together((segment, rank) -> {
            for (long round = 1; round <= 3000; round++) {
                segment.publish(Counter.PACKED, round);
                awaitAll(segment, Counter.PACKED, round);
                segment.publish(Counter.REDUCED, round);
                awaitAll(segment, Counter.REDUCED, round);
            }
        });
    }

    /** Every rank waits for one that the round's number draws, and for all now and then, as broadcasts and allreduces in turn. */
    @Test
    void noWakeUpIsLostWhereSomeWaitForOneAndOthersForAll() {
        Random roots = new Random(5);
        int[] drawn = roots.ints(4000, 0, RANKS).toArray();
        together((segment, rank) -> {
            for (int round = 1; round <= drawn.length; round++) {
                segment.publish(Counter.PACKED, round);
                await(segment, Counter.PACKED, drawn[round - 1], round);
                if (rank % 3 == round % 3) {
                    awaitAll(segment, Counter.PACKED, round);
                }
                segment.publish(Counter.REDUCED, round);
                awaitAll(segment, Counter.REDUCED, round);
            }
        });
    }

    /** A thread that was interrupted, for whatever purpose, waits on. It cannot sleep, and must not fill the heap with its waits. */
    @Test
    void anInterruptedThreadIsNotOnTheListAgainForEachLook() {
        Segment first = new Segment(LAYOUT, 0, memory.duplicate(), sleepers);
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        BooleanSupplier never = () -> false;
        Thread.currentThread().interrupt();
        try {
            first.sleepUntil(1, never, FOR_EVER);
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int look = 0; look < 10_000; look++) {
                first.sleepUntil(1, never, FOR_EVER);
            }
            assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(10_000);
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    @Test
    void whoHasComeInOneMemoryHasNotComeInAnother() {
        LocalHub hub = new LocalHub(2, 4096, true);
        Segment first = hub.memory(0);
        Segment other = hub.memory(1);
        first.publish(Counter.PACKED, 1);
        other.publish(Counter.PACKED, 1);
        assertThat(first.firstMissing(Counter.PACKED, 1, 0)).isEqualTo(2);

        Segment next = hub.memory(0);
        next.publish(Counter.PACKED, 1);

        assertThat(next.firstMissing(Counter.PACKED, 1, 0)).isEqualTo(1);
    }

    /** It stays on the list until the rank publishes again, which wakes it for nothing. */
    @Test
    void whoFindsTheCounterThereDoesNotSleep() {
        Segment first = new Segment(LAYOUT, 0, memory.duplicate(), sleepers);
        first.publish(Counter.PACKED, 1);

        first.sleepUntil(0, () -> first.hasCome(Counter.PACKED, 0, 1), FOR_EVER);

        assertThat(first.hasCome(Counter.PACKED, 0, 1)).isTrue();
    }
}
