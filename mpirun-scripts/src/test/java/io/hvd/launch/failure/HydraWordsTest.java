package io.hvd.launch.failure;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.error.FailureRecord;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class HydraWordsTest {

    private static final String KILLED = "hvd: the process of rank 2 on b has ended with code 137";
    private final HydraWords words = new HydraWords();

    @Test
    void theFirstRankThatEndsIsTheOneThatHasFailed() {
        words.accept("epoch 3, loss 0.5");
        words.accept(KILLED);
        words.accept("hvd: the process of rank 0 on a has ended with code 1");

        var started = new FailureRecord(Instant.EPOCH, 2, "b", 4242, "main", "nothing", "", true, -1);
        assertThat(words.firstFailure(List.of(started)))
                .contains(new ObservedFailure(2, "b", 137, "rank 2 on b, pid 4242, was ended by signal 9"));
        assertThat(words.firstFailure(List.of()))
                .contains(new ObservedFailure(2, "b", 137, "rank 2 on b, was ended by signal 9"));
        assertThat(words.hasFailedFor(-1)).isTrue();
        assertThat(words.hasFailedFor(TimeUnit.HOURS.toNanos(1))).isFalse();
    }

    @Test
    void anExitCodeIsNoSignalAndHydraMayPutTheRankBeforeTheLine() {
        words.accept("[2] " + KILLED.replace("137", "3"));

        assertThat(words.firstFailure(List.of()).orElseThrow().words())
                .isEqualTo("rank 2 on b, ended with exit code 3");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "and " + KILLED,
                KILLED + " again",
                "hvd: the process of rank ? on b has ended with code 1",
                "hvd: the process of rank 99999999999 on b has ended with code 1"
            })
    void whatRanksSayIsNotTakenForIt(String said) {
        words.accept(said);

        assertThat(words.firstFailure(List.of())).isEmpty();
        assertThat(words.hasFailedFor(-1)).isFalse();
    }
}
