package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class ResultTest {
    private static final Result RESULT = new Result(
            "allreduce-raw",
            2,
            1L << 20,
            Spread.of(List.of(3.0, 1.0, 2.0)),
            "mpi.jar 4.1.4 [ucx]",
            Spread.of(List.of(5.0, 4.0)));

    @Test
    void aLineHasAllFieldsInTheAgreedOrderAndOneWordEach() {
        assertThat(RESULT.with("ours", "hvd[shared memory]").line())
                .isEqualTo("RESULT bench=allreduce-raw ranks=2 bytes=1048576 ours_us=2.000"
                        + " opponent=mpi.jar_4.1.4_[ucx] opponent_us=4.500 ratio=2.250"
                        + " ours_min_us=1.000 opponent_min_us=4.000 rounds=3 ours=hvd[shared_memory]");
    }

    @Test
    void severalLaunchesGiveTheirMedianAndTheirRange() {
        assertThat(RESULT.withLaunches(List.of(1.25, 1.0, 1.5)).line())
                .endsWith(" launches=3 launch_ratio=1.250 launch_ratio_min=1.000 launch_ratio_max=1.500");
        assertThat(RESULT.withLaunches(List.of(1.25))).isEqualTo(RESULT);
    }

    @Test
    void whatIsReadIsWhatWasWritten() {
        Result read = Result.parse(RESULT.with("busbw_gbs", 0.125).line()).orElseThrow();

        assertThat(read).isEqualTo(RESULT.with("busbw_gbs", 0.125));
        assertThat(read.ratio()).isEqualTo(2.25);
    }

    @Test
    void otherLinesAreNoResults() {
        assertThat(Result.parse("MACHINE cores=2")).isEmpty();
        assertThat(Result.parse("")).isEmpty();
    }

    @Test
    void aLineThatIsCutOffIsRefusedWithWhatIsMissing() {
        assertThatThrownBy(() -> Result.parse("RESULT bench=a ranks=2 bytes=4 ours_us=1"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("opponent=");
        assertThatThrownBy(() ->
                        Result.parse("RESULT bench=a ranks=2 bytes=4 ours_us=fast opponent=b opponent_us=1 ratio=1"))
                .hasMessageContaining("ours_us=fast");
        assertThatThrownBy(() -> Result.parse("RESULT bench")).hasMessageContaining("\"bench\"");
    }

    @Test
    void numbersKeepFourDigitsAndNeverHaveAnExponent() {
        assertThat(Result.number(0.98765)).isEqualTo("0.9877");
        assertThat(Result.number(12.3456)).isEqualTo("12.35");
        assertThat(Result.number(987654321.0)).isEqualTo("987654321");
        assertThat(Result.number(0)).isEqualTo("0.000000");
    }
}
