package io.hvd.engine.plan;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class StepDecisionTest {
    private static final long SECOND = 1_000_000_000;
    private static final long NEVER = Long.MAX_VALUE;

    @Test
    void aRankRunsTheNextBatchUnlessItLeavesOrHasABetterCut() {
        assertThat(StepDecision.of(false, false)).isEqualTo(StepDecision.RUN);
        assertThat(StepDecision.of(false, true)).isEqualTo(StepDecision.VETO);
    }

    @Test
    void aRankThatLeavesTellsTheOthersEvenIfItHasABetterCut() {
        assertThat(StepDecision.of(true, false)).isEqualTo(StepDecision.LEAVE);
        assertThat(StepDecision.of(true, true)).isEqualTo(StepDecision.LEAVE);
    }

    @Test
    void anIncompleteBatchIsGivenUpAfterASecond() {
        assertThat(StepDecision.patienceNanos(0, NEVER)).isEqualTo(SECOND);
        assertThat(StepDecision.patienceNanos(SECOND - 1, NEVER)).isEqualTo(1);
        assertThat(StepDecision.patienceNanos(SECOND, NEVER)).isZero();
        assertThat(StepDecision.patienceNanos(5 * SECOND, NEVER)).isZero();
    }

    @Test
    void anOverdueAnswerEndsThePatienceSooner() {
        assertThat(StepDecision.patienceNanos(0, 7)).isEqualTo(7);
        assertThat(StepDecision.patienceNanos(SECOND - 3, 7)).isEqualTo(3);
    }

    @Test
    void thePlanHoldsBackWhatIsAwaitedAndNotDueAndWhatHasLainForTooLong() {
        assertThat(StepDecision.isHeldBack(true, false, SECOND)).isTrue();
        assertThat(StepDecision.isHeldBack(true, true, NEVER)).as("it is due").isFalse();
        assertThat(StepDecision.isHeldBack(false, false, SECOND))
                .as("nobody waits")
                .isFalse();
        assertThat(StepDecision.isHeldBack(false, false, 0)).as("for too long").isTrue();
    }

    @Test
    void onlyTheLastBatchOfAStepThatHasJustBeenSubmittedIsLeftToTheProgram() {
        assertThat(StepDecision.isLeftToProgram(true, false, SECOND - 1)).isTrue();
        assertThat(StepDecision.isLeftToProgram(false, false, 0))
                .as("another batch")
                .isFalse();
        assertThat(StepDecision.isLeftToProgram(true, true, 0))
                .as("a call that waits itself")
                .isFalse();
        assertThat(StepDecision.isLeftToProgram(true, false, SECOND))
                .as("the steps have paused")
                .isFalse();
    }

    @Test
    void aPlanHasSuitedAfterThreeSteps() {
        assertThat(StepDecision.hasSuited(11, 4)).isFalse();
        assertThat(StepDecision.hasSuited(12, 4)).isTrue();
    }
}
