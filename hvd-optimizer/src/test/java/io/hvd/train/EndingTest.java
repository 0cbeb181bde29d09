package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.train.Training.Outcome.Kind;
import io.hvd.train.loop.Position;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EndingTest {
    private static final int EPOCHS = 3;
    private static final int BATCHES = 2;

    private final Ending ending = new Ending();
    private final Position at = new Position(BATCHES);

    private Kind kind() {
        return ending.outcome(at).kind();
    }

    @Test
    void aLoopThatNobodyEndsIsFinishedWithoutAReason() {
        assertThat(ending.reason()).isNull();
        assertThat(kind()).isEqualTo(Kind.FINISHED);
        assertThat(ending.outcome(at).reason()).isEmpty();
    }

    @Test
    void aStopLetsTheEpochEndAndALeaveDoesNot() {
        ending.stop("enough");
        assertThat(ending.leaves()).isFalse();
        assertThat(kind()).isEqualTo(Kind.STOPPED);

        ending.leave("at once");
        assertThat(ending.leaves()).isTrue();
        assertThat(ending.leavesToGoOn()).isTrue();
        assertThat(kind()).isEqualTo(Kind.LEFT);
        assertThat(ending.reason()).isEqualTo("at once");
    }

    @Test
    void anEpochOfATrainingThatIsOverIsLeftForGood() {
        ending.over("an early stop");

        assertThat(ending.leaves()).isTrue();
        assertThat(ending.leavesToGoOn()).isFalse();
        assertThat(kind()).isEqualTo(Kind.STOPPED);
    }

    @ParameterizedTest
    @CsvSource({"1, 1, true, STEP_LIMIT", "1, 2, false, STEP_LIMIT", "2, 1, true, STEP_LIMIT", "2, 2, false, FINISHED"})
    void theLimitLeavesAnEpochStopsBehindItAndDoesNothingAfterTheVeryLastStep(
            int epoch, int batch, boolean leaves, Kind kind) {
        at.beginEpoch(epoch);
        for (int i = 0; i < batch; i++) {
            at.endBatch();
        }

        ending.limitReached(9, at, EPOCHS);

        assertThat(ending.leaves()).isEqualTo(leaves);
        assertThat(kind()).isEqualTo(kind);
        assertThat(ending.reason()).isEqualTo(kind == Kind.FINISHED ? null : "the limit of 9 steps is reached");
    }

    @ParameterizedTest
    @CsvSource({"the window was closed, CANCELLED", "SIGTERM from Slurm, SIGTERM"})
    void aCancelNamesItsRanksAndASignalIsToldFromAProgramsWord(String why, Kind kind) {
        SortedMap<Integer, String> reasons = new TreeMap<>(Map.of(3, why, 1, ""));

        ending.cancelled(reasons, 12);

        assertThat(kind()).isEqualTo(kind);
        assertThat(ending.isCancelled()).isTrue();
        assertThat(ending.cancelReasons()).isEqualTo(reasons);
        assertThat(ending.reason()).isEqualTo("cancelled after step 12 by rank 1: ; rank 3: " + why);
    }

    @Test
    void aCancelBehindTheLastEvaluationHasChangedNothing() {
        ending.cancelledInPause();
        assertThat(ending.isCancelled()).isTrue();

        ending.loopEnds();

        assertThat(ending.isCancelled()).isFalse();
        assertThat(kind()).isEqualTo(Kind.FINISHED);
    }

    @Test
    void aCancelOnWhichTheRanksHaveAgreedStaysWhenTheLoopEnds() {
        ending.cancelledInPause();
        ending.cancelled(new TreeMap<>(Map.of(0, "no time")), 4);

        ending.loopEnds();

        assertThat(ending.isCancelled()).isTrue();
    }
}
