package io.hvd.contract.explorer;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.contract.explorer.Finding.Property;
import io.hvd.contract.program.Draw;
import io.hvd.contract.program.Kind;
import io.hvd.contract.program.Op;
import io.hvd.contract.program.Operations;
import io.hvd.contract.program.Program;
import io.hvd.contract.program.ProgramId;
import io.hvd.contract.program.ProgramId.Pace;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ResultCheckerTest {
    private static final long SECOND = 1_000_000_000;
    private static final long NOON = 3_600 * SECOND;

    private final List<List<Integer>> sets = new ArrayList<>(List.of(List.of(0, 1, 2)));
    private final Operations operations = new Operations(new Draw(1), sets, 1_000);
    private final Op sum = operations.op("sum", Kind.ALLREDUCE, 0, true);
    private final Op barrier = operations.limited(operations.op(null, Kind.LIMITED_BARRIER, 0, true), 20_000);
    private final Program program = new Program(
            ProgramId.of(Pace.QUICK, 0),
            3,
            Map.of(),
            sets,
            0,
            operations.all(),
            Map.of(),
            List.of(List.of(), List.of(), List.of()));
    private final List<RankLog> logs = List.of(log(), log(), log());

    private RankLog log() {
        return new RankLog(operations.all().size());
    }

    private void all(Op op, long... callSeconds) {
        for (int rank = 0; rank < 3; rank++) {
            logs.get(rank).called[op.id()] = NOON + callSeconds[rank] * SECOND;
        }
    }

    private void done(Op op, double second) {
        logs.forEach(log -> log.done[op.id()] = NOON + Math.round(second * SECOND));
    }

    private List<Finding> findings() {
        return ResultChecker.of(program, logs).findings();
    }

    @Test
    void whoeverWaitsForTheLastRankDoesNotStall() {
        all(sum, 0, 50, 3);
        done(sum, 50.1);

        assertThat(findings()).isEmpty();
        assertThat(ResultChecker.of(program, logs).longestLagMillis()).isEqualTo(100);
    }

    @Test
    void whoeverWaitsLongAfterTheLastRankDoes() {
        all(sum, 0, 1, 2);
        done(sum, 5);

        assertThat(findings()).hasSize(3).allSatisfy(finding -> {
            assertThat(finding.property()).isEqualTo(Property.STALLS_FOR_NOBODY);
            assertThat(finding.certain())
                    .as("a machine may be busy for so long")
                    .isFalse();
            assertThat(finding.what()).contains("\"sum\"", "3000 ms");
        });
        done(sum, 20);
        assertThat(findings()).hasSize(3).allMatch(Finding::certain);
    }

    /** Of three seconds threads of one process have waited 800 ms for a core, which leaves less than is allowed. */
    @Test
    void theTimeThatThreadsHaveWaitedForACoreIsNoStall() {
        all(sum, 0, 1, 2);
        done(sum, 5);
        logs.get(2).starvation = samples(800);

        assertThat(findings()).isEmpty();
        logs.get(2).starvation = samples(400);
        assertThat(findings())
                .hasSize(3)
                .allMatch(finding -> finding.what().contains("3000 ms"))
                .allMatch(finding -> finding.what().endsWith("400 ms of it for want of a core"));
        done(sum, 20);
        logs.get(2).starvation = samples(9_000);
        assertThat(findings()).as("busy for half the time").hasSize(3).noneMatch(Finding::certain);
    }

    private static long[] samples(long millis) {
        return new long[] {NOON + SECOND, 0, NOON + 20 * SECOND, millis * 1_000_000};
    }

    /** The result is there for long; that is no reason to blame anybody. */
    @Test
    void whoeverAsksLateForAResultIsNotKept() {
        all(sum, 0, 0, 0);
        done(sum, 30);
        logs.forEach(log -> log.waited[sum.id()] = NOON + 29 * SECOND);

        assertThat(findings()).isEmpty();
    }

    @Test
    void aCallThatOnlyAsksComesBackAtOnce() {
        all(sum, 0, 0, 0);
        logs.get(1).handed[sum.id()] = NOON + 3 * SECOND;

        assertThat(findings())
                .singleElement()
                .satisfies(finding -> assertThat(finding.what()).contains("rank 1", "3000 ms coming back"));
    }

    @Test
    void aRankThatHadComeToABarrierIsNotMissing() {
        all(barrier, 0, 18, 60);
        done(barrier, 60);
        giveUp("after 20000 ms ranks {1, 2} had not come");

        assertThat(findings())
                .filteredOn(finding -> finding.what().contains("rank 1 had come 2000 ms before the end"))
                .hasSize(1);
        assertThat(findings()).noneMatch(finding -> finding.what().contains("rank 2 had come"));
    }

    @Test
    void aRankThatCameTooLateIsNamed() {
        all(barrier, 0, 60, 60);
        done(barrier, 60);
        giveUp("after 20000 ms ranks {2} had not come");

        assertThat(findings()).anyMatch(finding -> finding.what().contains("rank 1 is not named"));
    }

    @Test
    void aBarrierThatAllPassThoughItsLimitIsOverIsFound() {
        all(barrier, 0, 0, 60);
        done(barrier, 60);

        assertThat(findings()).anyMatch(finding -> finding.what().contains("40000 ms too late"));
    }

    @Test
    void allRanksHearOfTheSameEnd() {
        all(barrier, 0, 0, 60);
        logs.get(0).gaveUp[barrier.id()] = "after 20000 ms ranks {2} had not come";

        assertThat(findings())
                .anyMatch(finding -> finding.certain() && finding.what().contains("different ends"));
    }

    private void giveUp(String words) {
        logs.forEach(log -> log.gaveUp[barrier.id()] = words);
    }

    @Test
    void ranksThatGetOtherBitsAreFound() {
        all(sum, 0, 0, 0);
        done(sum, 0.1);
        logs.get(2).digest[sum.id()] = 1;

        assertThat(findings()).singleElement().satisfies(finding -> {
            assertThat(finding.property()).isEqualTo(Property.EQUALS_THE_PLAIN_LOOP);
            assertThat(finding.what()).contains("ranks [2] have got other bits than rank 0");
        });
    }

    /** The logs go to rank 0 as bytes. */
    @Test
    void nothingOfALogIsLostOnItsWay() {
        all(sum, 1, 2, 3);
        logs.get(1).digest[sum.id()] = 77;
        logs.get(1).gaveUp[barrier.id()] = "too late";
        logs.get(1).find("something");

        RankLog arrived = RankLog.of(logs.get(1).toBytes());

        assertThat(arrived).usingRecursiveComparison().isEqualTo(logs.get(1));
    }
}
