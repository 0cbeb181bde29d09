package io.hvd.engine.message;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.engine.message.Batch.Reason;
import io.hvd.engine.message.Batch.Refusal;
import io.hvd.engine.message.Plan.Op;
import io.hvd.error.BarrierTimeoutException;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.error.ShutdownException;
import java.util.List;
import org.junit.jupiter.api.Test;

class BatchTest {
    private static HvdException exception(Reason reason) {
        return new Refusal("a", reason, "what is wrong with a", List.of(0)).exception();
    }

    @Test
    void everyReasonToRefuseHasAnExceptionThatSaysWhatIsWrong() {
        assertThat(exception(Reason.MISMATCH)).isInstanceOf(RankMismatchException.class);
        assertThat(exception(Reason.TIMED_OUT)).isInstanceOf(BarrierTimeoutException.class);
        assertThat(exception(Reason.RANK_GONE)).isInstanceOf(ShutdownException.class);
        assertThat(exception(Reason.BAD_ARGUMENT).id()).isEqualTo(ErrorId.BAD_ARGUMENT);
        assertThat(List.of(Reason.values()))
                .allSatisfy(reason -> assertThat(exception(reason)).hasMessageContaining("what is wrong with a"));
    }

    @Test
    void inAnAllreduceOfSomeARankThatHasJoinedStandsInForTheOthersRequests() {
        Batch.Run some = new Batch.AllreduceOfSome(List.of(Requests.sum("a", 4), Requests.sum("b", 8)), 1);
        assertThat(some.names()).containsExactly("a", "b");
        assertThat(some.standIn(1)).isEqualTo(Requests.sum("b", 8));
    }

    @Test
    void whatAllHaveAskedForHasNoStandIn() {
        Batch.Run all = new Batch.Allreduce(List.of(Op.named("a"), Op.named("b")), 2);
        assertThatThrownBy(() -> all.standIn(1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("\"b\", which is not pending here");
    }
}
