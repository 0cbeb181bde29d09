package io.hvd.engine.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.coordination.Refusals.Why;
import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RefusalsTest {
    private static final Why WHY = new Why(Batch.Reason.MISMATCH, "it differs");
    private static final Request.Group BAD = new Request.Group("bad", 2);
    private static final Request.Group GOOD = new Request.Group("good", 2);

    private final Refusals refusals = new Refusals();
    private final GroupGate gate = new GroupGate();
    private final WaitingTallies waiting = new WaitingTallies(2);

    private static Tally tally(Request request) {
        Tally tally = new Tally(2, 0);
        tally.set(1, request, Plan.Op.UNKNOWN);
        return tally;
    }

    @Test
    void allThatIsLeftOfASpoiledGroupIsRefusedToThoseWhoAskedAndNothingElse() {
        gate.arrived(tally(Requests.sum("bad.0", 4, BAD)));
        gate.arrived(tally(Requests.sum("good.0", 4, GOOD)));
        waiting.want(1, Requests.sum("bad.1", 4, BAD), Plan.Op.UNKNOWN, 0, Set.of());
        waiting.want(1, Requests.sum("good.1", 4, GOOD), Plan.Op.UNKNOWN, 0, Set.of());
        refusals.spoil(List.of("bad"), WHY);
        refusals.spoil(List.of("bad"), new Why(Batch.Reason.RANK_GONE, "a later cause"));

        assertThat(refusals.rest(gate, waiting))
                .containsExactly(
                        new Batch.Refusal("bad.0", Batch.Reason.MISMATCH, "it differs", List.of(1)),
                        new Batch.Refusal("bad.1", Batch.Reason.MISMATCH, "it differs", List.of(1)));
        assertThat(waiting.isNothingBut(List.of("good.1"))).isTrue();
        assertThat(gate.forget("good")).hasSize(1);
    }

    @Test
    void withoutARefusalNothingIsSpoiled() {
        waiting.want(1, Requests.sum("good.1", 4, GOOD), Plan.Op.UNKNOWN, 0, Set.of());
        assertThat(refusals.rest(gate, waiting)).isEmpty();
        assertThat(refusals.spoiled(tally(Requests.sum("good.0", 4, GOOD)))).isEmpty();
    }
}
