package io.hvd.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RankResultTest {
    @Test
    void whatABodyReturnsIsWhatTheDriverGets() {
        for (Object result : Arrays.asList(1.5, null, "words", List.of(1, 2), Map.of("a", new long[] {7}.length))) {
            assertThat(RankResult.decode(RankResult.encode(result))).isEqualTo(result);
        }
        assertThat((float[]) RankResult.decode(RankResult.encode(new float[] {1, 2})))
                .containsExactly(1, 2);
    }

    @Test
    void aResultThatCannotBeSentIsNamed() {
        Object inside = List.of(new Object());

        assertThatThrownBy(() -> RankResult.encode(inside))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining(
                        "cannot be sent to the driver: java.io.NotSerializableException: java.lang.Object");
    }
}
