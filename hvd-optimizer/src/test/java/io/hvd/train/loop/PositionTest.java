package io.hvd.train.loop;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PositionTest {
    private final Position at = new Position(4);

    @Test
    void stepsGoOnOverEpochsAndBatchesBeginAnew() {
        at.beginEpoch(0);
        at.endBatch();
        at.beginEpoch(1);
        at.endBatch();
        at.endBatch();

        assertThat(at.steps()).isEqualTo(3);
        assertThat(at.batch()).isEqualTo(2);
        assertThat(at.progress()).isEqualTo(1.5);
        assertThat(at.isAtEndOfEpoch()).isFalse();
    }

    @Test
    void theRestOfAResumedEpochIsSpreadOverItsBatchesAndTheNextEpochIsWhole() {
        at.resumeAt(2, 0.5, 10);
        at.beginEpoch(2);
        at.endBatch();
        assertThat(at.progress()).isEqualTo(2 + 0.5 + 0.5 / 4);
        assertThat(at.steps()).isEqualTo(11);
        assertThat(at.stepsResumed()).isEqualTo(10);

        at.beginEpoch(3);
        at.endBatch();
        assertThat(at.progress()).isEqualTo(3.25);
    }

    @Test
    void aRankThatHasJoinedHasTheStepsOfTheRankWithMost() {
        at.beginEpoch(0);
        at.batches(6, null);
        at.endBatch();

        at.joined();

        assertThat(at.steps()).isEqualTo(6);
        assertThat(at.isAtEndOfEpoch()).isTrue();
    }

    @Test
    void anEpochWithoutBatchesIsDoneAndHasNoLastOne() {
        at.beginEpoch(0);
        at.batches(0, null);

        assertThat(at.progress()).isEqualTo(1);
        assertThat(at.isAtEndOfEpoch()).isFalse();
    }
}
