package io.hvd.engine;

import static io.hvd.engine.Requests.sum;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class StaticPlanTest {
    private final StaticPlan plan = new StaticPlan(
            List.of(List.of("a", "b"), List.of("c")), Map.of("a", sum("a", 4), "b", sum("b", 4), "c", sum("c", 8)), 2);

    @Test
    void aBatchIsDueWhenAllOfItIsThereInAnyOrder() {
        plan.submitted(sum("b", 4));
        assertThat(plan.isDue()).isFalse();
        plan.submitted(sum("a", 4));
        assertThat(plan.isDue()).isTrue();
        assertThat(plan.next()).containsExactly("a", "b");
        plan.advance();
        assertThat(plan.isDue()).isFalse();
        plan.submitted(sum("c", 8));
        assertThat(plan.isDue()).isTrue();
        plan.advance();
        assertThat(plan.next()).as("the next step").containsExactly("a", "b");
    }

    @Test
    void aGroupOfWhichOneBatchIsDoneHasBegunUntilItsLastBatchIsDoneToo() {
        Request.Group group = new Request.Group("g", 3);
        StaticPlan grouped = new StaticPlan(
                List.of(List.of("a"), List.of("g.0", "g.1"), List.of("g.2"), List.of("b")),
                Map.of(
                        "a", sum("a", 4),
                        "g.0", sum("g.0", 4).in(group),
                        "g.1", sum("g.1", 4).in(group),
                        "g.2", sum("g.2", 8).in(group),
                        "b", sum("b", 4)),
                2);
        assertThat(grouped.begunGroups()).isEmpty();
        grouped.advance();
        assertThat(grouped.begunGroups()).isEmpty();
        grouped.advance();
        assertThat(grouped.begunGroups()).isEqualTo(Map.of("g", Set.of("g.0", "g.1")));
        grouped.advance();
        assertThat(grouped.begunGroups()).isEmpty();
    }

    @Test
    void aLaterBatchWaitsForTheEarlierOne() {
        plan.submitted(sum("c", 8));
        assertThat(plan.isDue()).isFalse();
        assertThat(plan.isLeft()).isFalse();
    }

    @Test
    void anotherNameLeavesThePlan() {
        plan.submitted(sum("loss", 4));
        assertThat(plan.isLeft()).isTrue();
    }

    @Test
    void anotherShapeUnderAKnownNameLeavesThePlan() {
        plan.submitted(sum("a", 12));
        assertThat(plan.isLeft()).isTrue();
        plan.submitted(sum("b", 4));
        assertThat(plan.isDue()).isFalse();
    }

    @Test
    void theNextStepMayBeginWhileTheLastBatchIsStillOnItsWay() {
        plan.submitted(sum("a", 4));
        plan.submitted(sum("b", 4));
        plan.advance();
        plan.submitted(sum("c", 8));
        plan.submitted(sum("a", 4));
        assertThat(plan.isLeft()).isFalse();
        assertThat(plan.isDue()).isTrue();
    }

    @Test
    void aNextStepThatBeginsWithoutTheRestOfThisOneLeavesThePlan() {
        plan.submitted(sum("a", 4));
        plan.submitted(sum("b", 4));
        plan.advance();
        plan.submitted(sum("a", 4));
        assertThat(plan.isLeft()).as("c is not coming").isTrue();
    }
}
