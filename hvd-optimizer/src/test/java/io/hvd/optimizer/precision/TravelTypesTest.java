package io.hvd.optimizer.precision;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.BitSet;
import org.junit.jupiter.api.Test;

class TravelTypesTest {
    private final TravelTypes types = new TravelTypes(new RangeRules(10, 2, 1, 2), of(0, 2), 3);

    private static BitSet of(int... members) {
        BitSet set = new BitSet();
        for (int member : members) {
            set.set(member);
        }
        return set;
    }

    @Test
    void aWatchedGradientIsWideUntilAMagnitudeHasBeenSeen() {
        assertThat(types.wide()).isEqualTo(of(0, 2));
        types.seen(2, 1);
        assertThat(types.isWide(2)).as("before the ranks have decided").isTrue();
        types.narrow();
        assertThat(types.wide()).isEqualTo(of(0));
        assertThat(types.exponent(2)).isEqualTo(11);
    }

    @Test
    void aGradientThatHasFallenBackStaysWideWhateverIsSeen() {
        types.seen(0, 1);
        types.narrow();
        assertThat(types.overflow(0, 5)).isFalse();
        assertThat(types.overflow(0, 6)).isTrue();
        assertThat(types.exponent(0)).isEqualTo(-1);
        types.seen(0, 1);
        types.narrow();
        assertThat(types.isWide(0)).isTrue();
        assertThat(types.hasFallen(0)).isTrue();
    }

    @Test
    void afterAJoinAllIsForgottenButTheNumberOfOverflows() {
        types.seen(0, 1);
        types.overflow(0, 5);
        types.overflow(0, 6);
        types.beginAnew();
        assertThat(types.wide()).isEqualTo(of(0, 2));
        assertThat(types.hasFallen(0)).isFalse();
        assertThat(types.exponent(0)).isZero();
        assertThat(types.overflows(0)).isZero();
        assertThat(types.overflows()).isEqualTo(2);
    }
}
