package io.hvd.engine.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Plan.Op;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class StepWatchTest {
    private final StepWatch three = new StepWatch(3);

    private static Batch batch(int... numbers) {
        List<Op> ops = IntStream.of(numbers).mapToObj(n -> new Op("t" + n, n)).toList();
        return new Batch.Allreduce(ops, 2);
    }

    private List<List<String>> see(int... numbers) {
        return three.see(batch(numbers), true);
    }

    @Test
    void theThirdOfThreeEqualStepsSettlesAtItsLastBatch() {
        for (int step = 0; step < 2; step++) {
            assertThat(see(1, 2)).isEmpty();
            assertThat(see(3)).isEmpty();
        }
        assertThat(see(1, 2)).isEmpty();
        assertThat(see(3)).containsExactly(List.of("t1", "t2"), List.of("t3"));
    }

    @Test
    void theFinestCutOfTheStepsIsKept() {
        see(1, 2, 3);
        see(1);
        see(2, 3);
        assertThat(see(1, 2, 3)).containsExactly(List.of("t1"), List.of("t2", "t3"));
    }

    @Test
    void aCutFoundBetterIsTakenForTheSameOperationsOnly() {
        see(1, 2);
        see(1, 2);
        assertThat(see(1, 2)).containsExactly(List.of("t1", "t2"));
        three.startOver(Optional.of(List.of(List.of("t2"), List.of("t1"))));
        see(1, 2);
        see(1, 2);
        assertThat(see(1, 2)).containsExactly(List.of("t2"), List.of("t1"));
        three.startOver(Optional.empty());
        see(1);
        see(1);
        assertThat(see(1)).containsExactly(List.of("t1"));
        three.startOver(Optional.empty());
        see(1, 2);
        see(1, 2);
        assertThat(see(1, 2)).as("remembered").containsExactly(List.of("t2"), List.of("t1"));
        three.startOver(Optional.of(List.of()));
        see(1, 2);
        see(1, 2);
        assertThat(see(1, 2)).as("found anew").containsExactly(List.of("t1", "t2"));
    }

    @Test
    void aCutIsNotTakenWhereTheStepBeginsInTheMiddleOfIt() {
        see(1);
        see(2);
        see(1);
        see(2);
        see(1);
        assertThat(see(2)).containsExactly(List.of("t1"), List.of("t2"));
        three.startOver(Optional.of(List.of(List.of("t1"), List.of("t2"))));
        see(2);
        see(1);
        see(2);
        see(1);
        see(2);
        assertThat(see(1)).containsExactly(List.of("t2"), List.of("t1"));
    }

    @Test
    void stepsOfOtherOperationsAreNotEqual() {
        see(1);
        see(2);
        see(1);
        see(3);
        see(1);
        assertThat(see(2)).isEmpty();
        see(1);
        assertThat(see(2)).isEmpty();
        see(1);
        assertThat(see(2)).containsExactly(List.of("t1"), List.of("t2"));
    }

    @Test
    void anythingThatMayNotBePartOfAPlanStartsTheCountAnew() {
        see(1);
        see(1);
        assertThat(three.see(batch(9), false)).isEmpty();
        see(1);
        assertThat(see(1)).isEmpty();
        assertThat(see(1)).isNotEmpty();
    }

    @Test
    void anUnknownOperationStartsTheCountAnewToo() {
        see(1);
        see(1);
        Batch unknown = new Batch.Allreduce(List.of(Op.named("new")), 2);
        assertThat(three.see(unknown, true)).isEmpty();
        see(1);
        assertThat(see(1)).isEmpty();
    }

    @Test
    void zeroWantsNoPlanEver() {
        StepWatch never = new StepWatch(0);
        for (int i = 0; i < 50; i++) {
            assertThat(never.see(batch(1), true)).isEmpty();
        }
    }
}
