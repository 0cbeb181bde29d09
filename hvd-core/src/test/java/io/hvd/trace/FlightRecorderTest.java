package io.hvd.trace;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FlightRecorderTest {
    /** Without its last call a rank that trains would look as if it had never begun. */
    @ParameterizedTest
    @CsvSource({"128, a b c d", "4, a b c d", "3, b c d", "2, c d", "1, d", "0, d"})
    void theLastCallsAreRememberedInTheirOrderAndTheVeryLastAlways(int keep, String names) {
        FlightRecorder recorder = new FlightRecorder(keep);
        for (String name : List.of("a", "b", "c", "d")) {
            recorder.ended(submit(recorder, name), "");
        }

        assertThat(recorder.recent())
                .extracting(call -> call.operation().name())
                .containsExactly(names.split(" "));
        assertThat(recorder.pending()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"2", "0"})
    void whatIsPendingIsKnownHoweverLittleIsRemembered(int keep) {
        FlightRecorder recorder = new FlightRecorder(keep);
        for (String name : List.of("a", "b", "c")) {
            submit(recorder, name);
        }

        assertThat(recorder.pending())
                .extracting(call -> call.operation().name())
                .containsExactly("a", "b", "c");
    }

    private static Call submit(FlightRecorder recorder, String name) {
        return recorder.submitted(new Call.Operation("allreduce", name, "float32 [1]", 0, List.of(0)));
    }
}
