package io.hvd.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
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

    private record Named(String name, Call call) implements Recorded {
        @Override
        public Call.Operation operation() {
            return new Call.Operation("allreduce", name, "float32 [1]", 0, List.of(0));
        }

        @Override
        public String site() {
            return "Train.step";
        }

        @Override
        public long bytes() {
            return Float.BYTES;
        }
    }

    /** Otherwise what a monitor has read would change under its eyes. */
    @Test
    void aCallThatIsUsedAgainLeavesWhatWasReadOfItAsItWas() {
        FlightRecorder recorder = new FlightRecorder(3);
        List<Named> step = List.of(new Named("a", new Call()), new Named("b", new Call()));
        recorder.submitted(step);
        List<Call> read = recorder.pending();
        recorder.ended(step);
        recorder.submitted(step);

        assertThat(read).extracting(Call::number).containsExactly(1L, 2L);
        assertThat(read).allMatch(Call::isPending);
        assertThat(recorder.pending()).extracting(Call::number).containsExactly(3L, 4L);
        assertThat(recorder.recent()).extracting(Call::number).containsExactly(2L, 3L, 4L);
        assertThat(recorder.recent()).extracting(Call::isPending).containsExactly(false, true, true);
    }

    @Test
    void aCallThatHasNotEndedIsNotBegunAgainAndOneEndsOnce() {
        FlightRecorder recorder = new FlightRecorder(3);
        List<Named> one = List.of(new Named("a", new Call()));
        recorder.submitted(one);
        assertThatThrownBy(() -> recorder.submitted(one)).isInstanceOf(IllegalStateException.class);
        recorder.ended(one.get(0).call(), "first");
        recorder.ended(one.get(0).call(), "second");

        assertThat(recorder.pending()).isEmpty();
        assertThat(recorder.recent()).extracting(Call::error).containsExactly("first");
        recorder.submitted(one);
        assertThat(recorder.pending()).hasSize(1);
    }
}
