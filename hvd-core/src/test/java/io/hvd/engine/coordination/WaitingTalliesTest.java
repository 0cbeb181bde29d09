package io.hvd.engine.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class WaitingTalliesTest {
    private final WaitingTallies waiting = new WaitingTallies(2);

    private Optional<Tally> want(int rank, Request request, long now, Integer... excused) {
        return waiting.want(rank, request, Plan.Op.UNKNOWN, now, Set.of(excused));
    }

    private static List<String> names(List<Tally> tallies) {
        return tallies.stream().map(Tally::name).toList();
    }

    @Test
    void anOperationWaitsUntilAllHaveAskedWhoAreNotExcused() {
        assertThat(want(0, Requests.sum("a", 4), 0)).isEmpty();
        assertThat(want(1, Requests.sum("a", 4), 0)).map(Tally::asked).contains(2);
        assertThat(want(0, Requests.sum("a", 4), 0, 1)).map(Tally::asked).contains(1);
        assertThat(waiting.isNothingBut(List.of())).isTrue();
    }

    @Test
    void whatIsTakenIsInTheOrderOfTheFirstWhoAskedAndWaitsNoLonger() {
        List.of("c", "a", "b").forEach(name -> want(0, Requests.sum(name, 4), 0));
        assertThat(names(waiting.take(tally -> !tally.name().equals("a")))).containsExactly("c", "b");
        assertThat(waiting.isNothingBut(List.of("a"))).isTrue();
        assertThat(waiting.isNothingBut(List.of("b"))).isFalse();
    }

    @Test
    void onlyWhatHasALimitIsOverdueAndFromTheLimitOn() {
        long limit = TimeUnit.MILLISECONDS.toNanos(5);
        want(0, Requests.sum("a", 4), 0);
        want(0, new Request.Barrier("b", 5), 100);
        assertThat(waiting.nanosUntilDue(40)).isEqualTo(limit + 60);
        assertThat(waiting.takeOverdue(limit + 99)).isEmpty();
        assertThat(names(waiting.takeOverdue(limit + 100))).containsExactly("b");
        assertThat(waiting.nanosUntilDue(0)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void aLimitThatPassedWhileNobodyListenedIsPutOff() {
        long limit = TimeUnit.MILLISECONDS.toNanos(5);
        want(0, new Request.Barrier("b", 5), 0);
        waiting.postpone(10, limit + 50);
        assertThat(waiting.nanosUntilDue(limit + 50)).isEqualTo(limit - 10);
    }
}
