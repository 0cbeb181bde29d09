package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import org.junit.jupiter.api.Test;

class ProcessorTimesTest {
    private static final String MACHINE = "cpu  100 10 50 800 30 5 3 2 7 7\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n";
    private static final String PROCESS =
            "4711 (a (b) c) S 1 2 3 0 -1 4194304 9 9 0 0 20 30 40 50 20 0 12 0 99 1 2 3 4\n";

    @Test
    void timeWithoutWorkIsNoBusyTimeAndTimeOfOtherMachinesIs() {
        assertThat(ProcessorTimes.of(MACHINE, PROCESS)).isEqualTo(new ProcessorTimes(1000, 170, 140));
    }

    @Test
    void whatWeAndOurChildrenHadIsNotOfOthers() {
        ProcessorTimes before = new ProcessorTimes(1000, 170, 140);
        ProcessorTimes after = new ProcessorTimes(1400, 470, 400);

        assertThat(after.othersSince(before)).isEqualTo(300 - 260);
        assertThat(after.capacitySince(before)).isEqualTo(400);
    }

    @Test
    void ticksThatAreRoundedAgainstEachOtherDoNotMakeOthersNegative() {
        assertThat(new ProcessorTimes(10, 5, 6).othersSince(new ProcessorTimes(0, 0, 0)))
                .isZero();
    }

    @Test
    void aLineThatIsTooShortIsRefusedWithItsLength() {
        assertThatThrownBy(() -> ProcessorTimes.of("cpu  1 2 3\n", PROCESS))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("3 numbers")
                .hasMessageContaining("8");
    }

    @Test
    void thisMachinesCountersGoOn() throws IOException {
        ProcessorTimes before = ProcessorTimes.now();
        ProcessorTimes after = before;
        while (after.capacity() == before.capacity()) {
            after = ProcessorTimes.now();
        }

        assertThat(after.busy()).isGreaterThanOrEqualTo(before.busy());
        assertThat(after.ours()).isGreaterThanOrEqualTo(before.ours());
        assertThat(after.othersSince(before)).isLessThanOrEqualTo(after.capacitySince(before));
    }
}
