package io.hvd.engine.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.message.Announcement;
import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What one negotiated step of many simulated ranks costs rank 0, without the messages' way through the network. */
class NegotiationCostTest {
    /** As many as ResNet-50 has. */
    private static final int GRADIENTS = 161;

    private static final int STEPS = 21;
    private static final int NANOS_PER_MICRO = 1_000;

    @Test
    void everyStepOfManyRanksIsDecidedWhenTheLastHasAsked() {
        new Steps(64).run();
    }

    @Test
    @Tag("long")
    void whatANegotiationCosts() {
        new Steps(64).run(); // compiled
        System.out.println("ranks | first step, us | a step that the cache knows, us (medians of " + STEPS + ")");
        for (int ranks = 64; ranks <= 1_024; ranks *= 2) {
            Steps steps = new Steps(ranks);
            steps.run();
            System.out.println(ranks + " | " + steps.firstMicros() + " | " + steps.knownMicros());
        }
    }

    /** Steps of ranks that ask for the same gradients, each rank in one message. */
    private static final class Steps {
        private final int ranks;
        private final List<Request> gradients = new ArrayList<>();
        private final BitSet numbers = new BitSet();
        private final List<Long> first = new ArrayList<>();
        private final List<Long> known = new ArrayList<>();

        Steps(int ranks) {
            this.ranks = ranks;
            IntStream.range(0, GRADIENTS).forEach(i -> gradients.add(Requests.sum("gradient." + i, 4L << 10)));
            numbers.set(0, GRADIENTS);
        }

        void run() {
            for (int i = 0; i < STEPS; i++) {
                var coordinator = new Coordinator(ranks, List.of(), Requests.settings(64L << 20, 0));
                first.add(step(coordinator, Requests.wants(gradients)));
                var wishes = new Announcement.Wishes(0, 0, 1, numbers, List.of(), List.of());
                known.add(step(coordinator, new Announcement(List.of(wishes), false, "")));
            }
        }

        /** @return nanoseconds of it */
        private long step(Coordinator coordinator, Announcement announcement) {
            long begun = System.nanoTime();
            for (int rank = 0; rank < ranks - 1; rank++) {
                coordinator.announce(rank, announcement, 0);
            }
            assertThat(coordinator.next(0)).as("one rank has not asked").isEmpty();
            coordinator.announce(ranks - 1, announcement, 0);
            List<Plan> plans = coordinator.next(0);
            long nanos = System.nanoTime() - begun;
            assertThat(plans).hasSize(1);
            assertThat(plans.get(0).batches().stream()
                            .map(Batch::names)
                            .mapToInt(List::size)
                            .sum())
                    .isEqualTo(GRADIENTS);
            return nanos;
        }

        long firstMicros() {
            return median(first);
        }

        long knownMicros() {
            return median(known);
        }

        private static long median(List<Long> nanos) {
            long[] sorted = nanos.stream().mapToLong(Long::longValue).toArray();
            Arrays.sort(sorted);
            return sorted[sorted.length / 2] / NANOS_PER_MICRO;
        }
    }
}
