package io.hvd.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.Tensor;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A line that is found is a text of its own, so that one that was not looked for is the very text of before. */
class KnownCallsTest {
    private final KnownCalls calls = new KnownCalls(new FlightRecorder(4), false);

    private static Call submit(KnownCalls calls, int set, String name, float... values) {
        Tensor tensor = Tensor.of(values);
        Request request = Requests.sum(name, 4L * values.length);
        return calls.submitted(new Engine.Submission(set, List.of(0, 1), request, tensor, tensor));
    }

    @Test
    void theLineOfACallIsLookedForOnceAndEveryCallCounts() {
        Call first = submit(calls, 0, "a", 1);
        Call other = submit(calls, 0, "b", 1);
        Call again = submit(calls, 0, "a", 1);

        assertThat(again.site()).isSameAs(first.site());
        assertThat(again.number()).isEqualTo(3);
        assertThat(again.isPending()).isTrue();
        assertThat(other.site()).isEqualTo(first.site()).isNotSameAs(first.site());
    }

    @Test
    void aCallThatAsksForSomethingElseMayComeFromAnotherLine() {
        Call first = submit(calls, 0, "a", 1);
        assertThat(submit(calls, 0, "a", 1, 2).site()).isNotSameAs(first.site());
        assertThat(submit(calls, 7, "a", 1).site()).isNotSameAs(first.site());
        assertThat(submit(calls, 7, "a", 1).operation().processSet()).isEqualTo(7);
        assertThat(submit(calls, 0, "a", 1, 2).operation().detail()).isEqualTo("float32[2]");
    }

    @Test
    void inStrictModeEveryLineIsLookedFor() {
        KnownCalls strict = new KnownCalls(new FlightRecorder(4), true);
        Call first = submit(strict, 0, "a", 1);
        assertThat(submit(strict, 0, "a", 1).site()).isNotSameAs(first.site());
    }

    @Test
    void namesThatNeverComeAgainDoNotFillTheMemory() {
        Call first = submit(calls, 0, "a", 1);
        for (int i = 0; i < KnownCalls.MOST_NAMES; i++) {
            submit(calls, 0, "noname." + i, 1);
        }
        Call again = submit(calls, 0, "a", 1);
        assertThat(again.site()).isNotSameAs(first.site());
        assertThat(submit(calls, 0, "a", 1).site()).isSameAs(again.site());
    }
}
