package io.hvd.engine.tuning;

import static io.hvd.engine.message.Requests.sum;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.engine.tuning.StepCut.Ready;
import io.hvd.tensor.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Times are in nanoseconds: a batch costs 100 and a byte 1. */
class StepCutTest {
    private static final Pace PACE = new Pace(100, 1);
    private static final long PLENTY = 1 << 20;
    private static final long LATE = 1_000_000;

    private final StepCut cut = new StepCut(PACE, PLENTY, true, true);

    private static Ready ready(String name, long bytes, long nanos) {
        return new Ready(sum(name, bytes), nanos, LATE);
    }

    @Test
    void whatIsReadyAtOnceGoesAsOne() {
        assertThat(cut.best(List.of(ready("a", 40, 0), ready("b", 40, 0), ready("c", 40, 0))))
                .containsExactly(List.of("a", "b", "c"));
    }

    @Test
    void whatIsReadyEarlyGoesWhileTheRestIsAwaited() {
        assertThat(cut.best(List.of(ready("early", 400, 0), ready("late", 40, 500), ready("last", 40, 520))))
                .containsExactly(List.of("early"), List.of("late", "last"));
    }

    @Test
    void aBatchOfItsOwnMustBringMoreThanItCosts() {
        assertThat(cut.best(List.of(ready("early", 40, 0), ready("late", 40, 50))))
                .as("40 ns hidden would cost 100")
                .containsExactly(List.of("early", "late"));
    }

    @Test
    void theOrderIsThatInWhichTheyBecomeReady() {
        assertThat(cut.best(List.of(ready("first-layer", 400, 900), ready("last-layer", 400, 0))))
                .containsExactly(List.of("last-layer"), List.of("first-layer"));
    }

    @Test
    void noBatchIsLargerThanTheThreshold() {
        StepCut small = new StepCut(PACE, 100, true, true);
        assertThat(small.best(List.of(ready("a", 60, 0), ready("b", 60, 0), ready("c", 400, 0))))
                .containsExactly(List.of("a"), List.of("b"), List.of("c"));
    }

    @Test
    void whatMayNeedTheResultOfAnotherNeverGoesTogetherWithIt() {
        List<Ready> oneByOne = List.of(ready("first", 4, 0), new Ready(sum("a", 4), 10, 95), ready("b", 4, 95));
        assertThat(cut.best(oneByOne)).containsExactly(List.of("first", "a"), List.of("b"));
    }

    @Test
    void whereBatchesTakeTheProgramsCoresTheFewestAreBest() {
        StepCut crowded = new StepCut(PACE, 500, true, false);
        List<Ready> step = List.of(ready("early", 400, 0), ready("late", 40, 5000), ready("last", 400, 9000));

        assertThat(crowded.best(step)).hasSize(2);
        assertThat(crowded.best(List.of(ready("early", 400, 0), ready("late", 40, 5000))))
                .containsExactly(List.of("early", "late"));
        assertThat(crowded.end(step, List.of(List.of("early", "late", "last"))))
                .as("what the batches take")
                .isEqualTo(940);
    }

    @Test
    void aGroupIsNotCutAndIsReadyWhenItsLastMemberIs() {
        Request.Group group = new Request.Group("g", 2);
        List<Ready> step = List.of(
                new Ready(sum("g.0", 400, group), 0, LATE),
                ready("alone", 400, 10),
                new Ready(sum("g.1", 400, group), 700, LATE));
        assertThat(cut.best(step)).containsExactly(List.of("alone"), List.of("g.0", "g.1"));
    }

    @Test
    void wholeGroupsMayShareABatch() {
        Request.Group one = new Request.Group("one", 2);
        Request.Group other = new Request.Group("other", 1);
        List<Ready> step = List.of(
                new Ready(sum("one.0", 400, one), 0, LATE),
                new Ready(sum("one.1", 400, one), 5, LATE),
                new Ready(sum("other.0", 400, other), 10, LATE));
        assertThat(cut.best(step)).containsExactly(List.of("one.0", "one.1", "other.0"));
        assertThat(new StepCut(PACE, 1000, true, false).best(step))
                .as("too much for one batch")
                .containsExactly(List.of("one.0", "one.1"), List.of("other.0"));
        assertThat(new StepCut(PACE, 500, true, false).best(step))
                .as("a group is one batch, whatever its size")
                .containsExactly(List.of("one.0", "one.1"), List.of("other.0"));
        assertThat(new StepCut(PACE, 500, false, false).best(step)).hasSize(3);
    }

    /** Else a part of it would run, and the rest, announced alone when the plan ends, would wait for the whole group. */
    @Test
    void aGroupOfSeveralTypesSharesNoBatch() {
        Request.Group group = new Request.Group("g", 2);
        List<Ready> step = List.of(
                ready("before", 40, 0),
                new Ready(sum("g.0", 40, group), 1, LATE),
                new Ready(Requests.in(group, Requests.wired("g.1", DType.FLOAT16)), 2, LATE),
                new Ready(Requests.wired("after", DType.FLOAT16), 3, LATE));
        assertThat(new StepCut(PACE, PLENTY, true, false).best(step))
                .containsExactly(List.of("before"), List.of("g.0"), List.of("g.1"), List.of("after"));
    }

    @Test
    void differentTypesReadyTogetherTakeABatchEach() {
        List<Ready> step = List.of(
                ready("a", 40, 0), new Ready(Requests.wired("half", DType.FLOAT16), 0, LATE), ready("b", 40, 0));
        assertThat(cut.best(step)).containsExactlyInAnyOrder(List.of("a", "b"), List.of("half"));
    }

    @Test
    void noOtherCutEndsSooner() {
        Random random = new Random(7);
        for (int round = 0; round < 200; round++) {
            List<Ready> step = new ArrayList<>();
            long nanos = 0;
            for (int i = 0; i < 8; i++) {
                step.add(ready("t" + i, 4L * (1 + random.nextInt(100)), nanos));
                nanos += random.nextInt(200);
            }
            double best = cut.end(step, cut.best(step));
            assertThat(best).isEqualTo(quickest(step));
        }
    }

    /** The least time of all ways to cut it. */
    private double quickest(List<Ready> step) {
        return IntStream.range(0, 1 << (step.size() - 1))
                .mapToDouble(cuts -> cut.end(step, batches(step, cuts)))
                .min()
                .orElseThrow();
    }

    private static List<List<String>> batches(List<Ready> step, int cuts) {
        List<List<String>> batches = new ArrayList<>();
        for (int i = 0; i < step.size(); i++) {
            if (i == 0 || (cuts >> (i - 1) & 1) == 1) {
                batches.add(new ArrayList<>());
            }
            batches.get(batches.size() - 1).add(step.get(i).request().name());
        }
        return batches;
    }
}
