package io.hvd.engine.plan;

import static io.hvd.engine.message.Requests.sum;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.message.Request;
import io.hvd.engine.submission.Ops;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.Slot;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.trace.FlightRecorder;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class StaticPlanTest {
    private final TensorQueue queue = new TensorQueue(1, 1);
    private final StaticPlan plan = plan(List.of(List.of(sum("a", 4), sum("b", 4)), List.of(sum("c", 8))));

    private StaticPlan plan(List<List<Request>> batches) {
        return new StaticPlan(
                batches.stream()
                        .map(requests -> requests.stream().map(this::remembered).toList())
                        .toList(),
                2);
    }

    private Slot remembered(Request request) {
        Slot slot = queue.slot(0, request.name());
        slot.remember(1, request);
        return slot;
    }

    private void submit(StaticPlan to, Request request) {
        to.submitted(Ops.op(queue, 0, request, null, new FlightRecorder(1)));
    }

    private List<String> next() {
        return plan.names().get(plan.isAtLastBatch() ? 1 : 0);
    }

    @Test
    void aBatchIsDueWhenAllOfItIsThereInAnyOrder() {
        submit(plan, sum("b", 4));
        assertThat(plan.isDue()).isFalse();
        submit(plan, sum("a", 4));
        assertThat(plan.isDue()).isTrue();
        assertThat(plan.next().ops()).extracting(PendingOp::name).containsExactly("a", "b");
        plan.advance();
        assertThat(plan.isDue()).isFalse();
        submit(plan, sum("c", 8));
        assertThat(plan.isDue()).isTrue();
        plan.advance();
        assertThat(next()).as("the next step").containsExactly("a", "b");
    }

    @Test
    void aGroupOfWhichOneBatchIsDoneHasBegunUntilItsLastBatchIsDoneToo() {
        Request.Group group = new Request.Group("g", 3);
        StaticPlan grouped = plan(List.of(
                List.of(sum("a", 4)),
                List.of(sum("g.0", 4, group), sum("g.1", 4, group)),
                List.of(sum("g.2", 8, group)),
                List.of(sum("b", 4))));
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
        submit(plan, sum("c", 8));
        assertThat(plan.isDue()).isFalse();
        assertThat(plan.isLeft()).isFalse();
    }

    @Test
    void anotherNameLeavesThePlan() {
        submit(plan, sum("loss", 4));
        assertThat(plan.isLeft()).isTrue();
    }

    @Test
    void anotherShapeUnderAKnownNameLeavesThePlan() {
        submit(plan, sum("a", 12));
        assertThat(plan.isLeft()).isTrue();
        submit(plan, sum("b", 4));
        assertThat(plan.isDue()).isFalse();
    }

    @Test
    void theNextStepMayBeginWhileTheLastBatchIsStillOnItsWay() {
        submit(plan, sum("a", 4));
        submit(plan, sum("b", 4));
        plan.advance();
        submit(plan, sum("c", 8));
        submit(plan, sum("a", 4));
        assertThat(plan.isLeft()).isFalse();
        assertThat(plan.isDue()).isTrue();
    }

    @Test
    void aNextStepThatBeginsWithoutTheRestOfThisOneLeavesThePlan() {
        submit(plan, sum("a", 4));
        submit(plan, sum("b", 4));
        plan.advance();
        submit(plan, sum("a", 4));
        assertThat(plan.isLeft()).as("c is not coming").isTrue();
    }

    @Test
    void anOperationBelongsToItsBatchUntilThePlanEnds() {
        Slot c = queue.slot(0, "c");
        assertThat(c.isPlanned()).isTrue();
        assertThat(c.batch()).isEqualTo(1);
        plan.end();
        assertThat(c.isPlanned()).isFalse();
    }
}
