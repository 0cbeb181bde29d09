package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NumeralsTest {
    @Test
    void digitsWithASignAPointAndAnExponentAreNumbers() {
        assertThat(Numerals.whole("-9223372036854775808")).isEqualTo(Long.MIN_VALUE);
        assertThat(Numerals.whole("+7")).isEqualTo(7);
        assertThat(Numerals.wholeInt("2147483647")).isEqualTo(Integer.MAX_VALUE);
        assertThat(Numerals.decimal("-2.5e-3")).isEqualTo(-2.5e-3);
        assertThat(Numerals.decimal(".5")).isEqualTo(0.5);
        assertThat(Numerals.decimal("5.")).isEqualTo(5);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", " 1", "1 ", "\u0661", "1\u0660", "\uff11", "--1", "1_000", "9223372036854775808", "1.0"})
    void whatIsNoWholeNumberIsRefused(String text) {
        assertThatThrownBy(() -> Numerals.whole(text)).isInstanceOf(NumberFormatException.class);
        assertThatThrownBy(() -> Numerals.wholeInt(text)).isInstanceOf(NumberFormatException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ".", "1d", "1f", "0x1p3", "NaN", "Infinity", " 1.5", "\u0661.5", "1e", "1e99999"})
    void whatIsNoPlainDecimalIsRefused(String text) {
        assertThatThrownBy(() -> Numerals.decimal(text)).isInstanceOf(NumberFormatException.class);
    }
}
