package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.LocalRanks;
import io.hvd.error.ShutdownException;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A rank that closes early, beside every kind of call of the others. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class CallsBesideAnEndTest {
    @ParameterizedTest
    @CsvSource({"1, 0", "20, 0", "20, 1"})
    void everyCallThatNeedsARankWhichHasClosedNamesThatRank(int steps, String strict) {
        List<List<String>> wrong = LocalRanks.spawn(
                3, CallsBesideAnEnd.options(), Map.of("HVD_STRICT", strict), hvd -> CallsBesideAnEnd.play(hvd, steps));
        assertThat(wrong).containsOnly(List.of());
    }

    @Test
    void aJoinThatAlreadyWaitsEndsWhenARankCloses() {
        List<String> errors = LocalRanks.spawn(3, CallsBesideAnEnd.options(), Map.of(), hvd -> {
            if (hvd.rank() == CallsBesideAnEnd.CLOSED) {
                // It ends when both others have joined, and without a part of theirs.
                float alone = hvd.allreduce("alone", Tensor.of(1f), AllreduceOptions.sum())
                        .item();
                return "closed after " + alone;
            }
            try {
                return "joined " + hvd.join();
            } catch (ShutdownException e) {
                return e.getMessage();
            }
        });
        assertThat(errors.get(2)).isEqualTo("closed after 1.0");
        assertThat(errors.subList(0, 2))
                .allSatisfy(error -> assertThat(error).contains("join", "ranks {2} have closed"));
    }
}
