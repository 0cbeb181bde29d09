package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import org.junit.jupiter.api.Test;

class StateSizeTest {
    @Test
    void whatAnArrayHoldsIsTaken() {
        assertThat(StateSize.require("Adam", 16)).isEqualTo(16);
        assertThat(StateSize.require("Adam", Integer.MAX_VALUE - 8)).isEqualTo(Integer.MAX_VALUE - 8);
    }

    @Test
    void whatNoArrayHoldsIsRefusedWithBothNumbers() {
        for (long bytes : new long[] {Integer.MAX_VALUE, (1L << 32) + 16}) {
            assertThatThrownBy(() -> StateSize.require("Adam", bytes))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("Adam has " + bytes + " bytes")
                    .hasMessageContaining("at most 2147483639");
        }
    }
}
