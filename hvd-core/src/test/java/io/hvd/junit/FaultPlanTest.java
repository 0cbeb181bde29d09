package io.hvd.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.Setting;
import io.hvd.elastic.PlannedFault;
import io.hvd.error.HvdException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FaultPlanTest {
    @Test
    void theRanksReadWhatThePlanWrites() {
        String plan = FaultPlan.kill(1)
                .atStep(40)
                .and(FaultPlan.stop(2, Duration.ofMillis(1500)).atStep(0))
                .and(FaultPlan.terminate(0).inSync(3))
                .toString();

        assertThat(plan).isEqualTo("kill 1 at step 40; stop 2 for 1500 ms at step 0; terminate 0 in sync 3");
        assertThat(PlannedFault.parse(plan))
                .containsExactly(
                        new PlannedFault(PlannedFault.Kind.KILL, 1, PlannedFault.Moment.AT_STEP, 40, 0),
                        new PlannedFault(PlannedFault.Kind.STOP, 2, PlannedFault.Moment.AT_STEP, 0, 1500),
                        new PlannedFault(PlannedFault.Kind.TERMINATE, 0, PlannedFault.Moment.IN_SYNC, 3, 0));
        assertThat(FaultPlan.VARIABLE).isEqualTo(Setting.FAULT_PLAN.variable());
    }

    @Test
    void aStepThatWasJumpedOverIsDueToo() {
        PlannedFault fault = PlannedFault.parse("kill 1 at step 4").get(0);

        assertThat(fault.isDueAt(3)).isFalse();
        assertThat(fault.isDueAt(4)).isTrue();
        assertThat(fault.isDueAt(5)).isTrue();
        assertThat(fault.isDueInSync(4)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"kill 1", "kill x at step 3", "stop 1 at step 3", "kill 1 for 3 ms at step 3", "end 1 in sync 2"
            })
    void anotherTextIsRefusedWithExamples(String text) {
        assertThatThrownBy(() -> PlannedFault.parse("kill 0 at step 1;" + text))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("\"" + text + "\"", "kill 1 at step 40");
    }

    @Test
    void numbersBelowZeroAreRefused() {
        assertThatThrownBy(() -> FaultPlan.kill(-1)).hasMessageContaining("rank -1");
        assertThatThrownBy(() -> FaultPlan.kill(1).atStep(-1)).hasMessageContaining("at -1");
        assertThatThrownBy(() -> FaultPlan.stop(1, Duration.ZERO)).hasMessageContaining("at least 1 ms");
    }
}
