package io.hvd.engine.submission;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class WakePolicyTest {
    private static final long LINGER = TimeUnit.HOURS.toNanos(1);

    private final WakePolicy policy = new WakePolicy(100, LINGER);

    private boolean submits(int operations, long bytes, boolean hurry, boolean planned) {
        policy.begin();
        for (int i = 0; i < operations; i++) {
            policy.added(bytes);
        }
        return policy.submitted(hurry, planned);
    }

    @Test
    void nothingIsDueWhereNothingIsFresh() {
        assertThat(policy.nanosUntilDue()).isEqualTo(Long.MAX_VALUE);
        assertThat(policy.hurry()).isFalse();
    }

    @Test
    void theFirstSubmissionWakesAndTheNextLingersWithIt() {
        assertThat(submits(1, 10, false, false)).isTrue();
        assertThat(submits(1, 10, false, false)).isFalse();
        assertThat(policy.nanosUntilDue()).isBetween(1L, LINGER);
    }

    @Test
    void enoughBytesAreDueAtOnce() {
        assertThat(submits(1, 99, false, false)).isTrue();
        assertThat(submits(1, 1, false, false))
                .as("wakes once more, since it is due now")
                .isTrue();
        assertThat(policy.nanosUntilDue()).isZero();
        assertThat(submits(1, 1_000, true, false)).as("is due already").isFalse();
    }

    @Test
    void aThreadThatWaitsMakesDueWhatIsFresh() {
        submits(1, 10, false, false);
        assertThat(policy.hurry()).isTrue();
        assertThat(policy.hurry()).isFalse();
        assertThat(policy.nanosUntilDue()).isZero();
    }

    @Test
    void ofAStaticPlanOnlyAWholeBatchWakesHoweverLarge() {
        assertThat(policy.rest(3)).isTrue();
        assertThat(submits(2, 1_000, false, true)).isFalse();
        assertThat(submits(1, 1_000, false, true)).isTrue();
        assertThat(submits(1, 1_000, false, true)).as("it has been woken").isFalse();
    }

    @Test
    void noPartOfAPlanWakesAThreadThatIsAwake() {
        assertThat(submits(5, 1_000, false, true)).isFalse();
    }

    @Test
    void theThreadDoesNotSleepWhereEnoughIsThereAlready() {
        submits(2, 10, false, true);
        assertThat(policy.rest(2)).isFalse();
        assertThat(policy.rest(3)).isTrue();
    }

    @Test
    void whatIsDrainedCountsNoMore() {
        submits(2, 60, true, false);
        policy.drained();
        assertThat(policy.nanosUntilDue()).isEqualTo(Long.MAX_VALUE);
        assertThat(submits(1, 60, false, false)).isTrue();
        assertThat(policy.nanosUntilDue()).as("60 bytes are not enough").isPositive();
    }

    @Test
    void otherSettingsHoldForWhatComesNext() {
        policy.tune(10, 0);
        submits(1, 10, false, false);
        assertThat(policy.nanosUntilDue()).isZero();
    }
}
