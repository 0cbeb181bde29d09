package io.hvd.examples.gan;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RingOfPointsTest {
    private static final RingOfPoints RING = new RingOfPoints(8, 0.05, 4_000, 3);

    @Test
    void thePointsLieAroundAllModesAndFollowFromTheSeed() {
        float[] coordinates = new float[2 * RING.size()];
        for (int i = 0; i < RING.size(); i++) {
            System.arraycopy(RING.get(i), 0, coordinates, 2 * i, 2);
        }

        ModeCounts counts = ModeCounts.of(RING, coordinates);

        assertThat(counts.share()).isGreaterThan(0.998);
        assertThat(counts.covered()).isEqualTo(8);
        assertThat(Arrays.stream(counts.near()).boxed())
                .allSatisfy(count -> assertThat(count).isBetween(400L, 600L));
        assertThat(new RingOfPoints(8, 0.05, 4_000, 3).get(7)).isEqualTo(RING.get(7));
        assertThat(new RingOfPoints(8, 0.05, 4_000, 4).get(7)).isNotEqualTo(RING.get(7));
    }

    @Test
    void aPointBelongsToTheModeThatItIsNear() {
        assertThat(RING.modeOf(1, 0)).isZero();
        assertThat(RING.modeOf(0.01f, -1.02f)).isEqualTo(6);
        assertThat(RING.modeOf(0.85f, 0)).isZero();
        assertThat(RING.modeOf(0.79f, 0)).as("beyond four deviations").isEqualTo(RingOfPoints.NONE);
        assertThat(RING.modeOf(0, 0)).isEqualTo(RingOfPoints.NONE);
        assertThat(RING.modeOf(Float.NaN, 0)).isEqualTo(RingOfPoints.NONE);
    }

    /** The first rank has nothing near a mode, the second nothing at all. */
    @Test
    void countsAreSumsOverTheRanksAndAModeWithFewPointsIsNotCovered() {
        List<ModeCounts> all =
                Hvd.spawn(3, hvd -> ModeCounts.of(RING, points(hvd.rank())).ofAllRanks(hvd));

        assertThat(all).hasSize(3).allSatisfy(counts -> {
            assertThat(counts.points()).isEqualTo(32);
            assertThat(counts.near()).containsExactly(29, 0, 1, 0, 0, 0, 0, 0);
            assertThat(counts.share()).isEqualTo(30 / 32.0);
            assertThat(counts.covered())
                    .as("with a quarter of the even share of four")
                    .isEqualTo(2);
        });
    }

    private static float[] points(int rank) {
        float[] coordinates = new float[rank == 0 ? 4 : rank == 1 ? 0 : 60];
        for (int i = 0; rank == 2 && i < coordinates.length; i += 2) {
            coordinates[i] = i == 0 ? 0 : 1;
            coordinates[i + 1] = i == 0 ? 1 : 0;
        }
        return coordinates;
    }
}
