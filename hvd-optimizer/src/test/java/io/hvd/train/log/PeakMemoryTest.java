package io.hvd.train.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class PeakMemoryTest {
    private static final int MEBIBYTE = 1 << 20;

    @Test
    void memoryThatWasUsedCounts() {
        byte[] used = new byte[64 * MEBIBYTE];
        Arrays.fill(used, (byte) 1);

        assertThat(PeakMemory.mebibytes()).isGreaterThan(64);
        assertThat(used[used.length - 1]).isOne();
    }
}
