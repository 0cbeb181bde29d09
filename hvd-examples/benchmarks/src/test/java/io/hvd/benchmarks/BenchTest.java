package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BenchTest {
    @Test
    void sizesAreBytesKibibytesOrMebibytes() throws ParseException {
        assertThat(Bench.numbers("sizes", "4,64K,16M", Bench::size)).isEqualTo(List.of(4L, 64L << 10, 16L << 20));
    }

    @ParameterizedTest
    @ValueSource(strings = {",4", "K", "\u0664", "\u0664K", "4G", "9223372036854775807M", "-4", "0"})
    void aSizeThatIsNoneIsNamedWithItsFlag(String sizes) {
        assertThatThrownBy(() -> Bench.numbers("sizes", sizes, Bench::size))
                .isInstanceOf(ParseException.class)
                .hasMessageStartingWith("--sizes has \"");
    }
}
