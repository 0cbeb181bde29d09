package io.hvd.host.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.host.local.LocalHub;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a rank keeps of the work that it has begun between the groups. */
@Timeout(20)
class OuterExchangeTest {
    /** Is done when it has been asked some times, and counts how often it is asked. */
    private static final class Work implements Completion {
        private final int asksUntilDone;
        private int asked;

        Work(int asksUntilDone) {
            this.asksUntilDone = asksUntilDone;
        }

        @Override
        public boolean isDone() {
            return ++asked >= asksUntilDone;
        }
    }

    /** Begins broadcasts, and nothing else. */
    private static final class Broadcasts implements OuterLevel {
        private final List<Work> begun = new ArrayList<>();
        private int asksUntilDone = 1;

        @Override
        public Completion beginBroadcast(Tensor tensor, int root) {
            begun.add(new Work(asksUntilDone));
            return begun.get(begun.size() - 1);
        }

        @Override
        public Completion beginAllreduce(Tensor tensor, Reduction how) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Completion beginAllgather(Tensor input, Tensor output, long[] elements) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Completion beginAlltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean allreduceUnlessVetoed(Tensor tensor, Reduction how) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void veto(long elements, Reduction how) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void report(Activities to) {}

        @Override
        public void abandon() {}

        @Override
        public void close() {}
    }

    private final Broadcasts outer = new Broadcasts();
    private final LocalHub hub = new LocalHub(1, 4096);
    private final OuterExchange exchange = new OuterExchange(
            new Rounds(hub.memory(0), hub.group(), Backoff.ofThreads(1, 1)),
            outer,
            new Groups(List.of(List.of(0), List.of(1)), 0, false));

    private Completion begin() {
        return exchange.beginBroadcast(ByteBuffer.allocateDirect(8), 0);
    }

    /** A rank that is alone in its group never waits inside it, where it would look at what is under way. */
    @Test
    void workThatWasDoneWhenItWasAwaitedIsForgotten() {
        for (int i = 0; i < 100; i++) {
            exchange.await(begin());
        }
        outer.asksUntilDone = 3;
        exchange.await(begin());

        assertThat(outer.begun.subList(0, 100)).allMatch(work -> work.asked == 1);
    }

    @Test
    void workThatWasBegunBeforeMovesOnWhileTheRankWaitsForLaterWork() {
        outer.asksUntilDone = 3;
        Completion first = begin();
        outer.asksUntilDone = 9;
        exchange.await(begin());

        assertThat(outer.begun.get(0).asked).isGreaterThanOrEqualTo(3);
        exchange.await(first);
    }
}
