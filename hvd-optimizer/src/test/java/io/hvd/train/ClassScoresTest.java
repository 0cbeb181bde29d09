package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ClassScoresTest {
    /** Two samples of four classes: 2, 0, 3, 1 and 3, 1, 2, 0 by falling score. */
    private static final ClassScores TWO = new ClassScores(new float[] {0.5f, -1, 4, 0, -7, 2, 1, 9}, 4);

    @Test
    void theTopClassHasTheLargestScore() {
        assertThat(TWO.samples()).isEqualTo(2);
        assertThat(TWO.top(0)).isEqualTo(2);
        assertThat(TWO.top(1)).isEqualTo(3);
    }

    @Test
    void aSampleIsAHitIfItsLabelIsAmongTheFirst() {
        long[] third = {3, 2};
        assertThat(TWO.hits(1, new long[] {2, 3})).isEqualTo(2);
        assertThat(TWO.hits(1, new long[] {2, 1})).isEqualTo(1);
        assertThat(TWO.hits(1, third)).isZero();
        assertThat(TWO.hits(2, third)).isZero();
        assertThat(TWO.hits(3, third)).isEqualTo(2);
    }

    @Test
    void withFewerClassesThanPlacesEverySampleIsAHit() {
        assertThat(TWO.hits(5, new long[] {1, 0})).isEqualTo(2);
    }

    @Test
    void ofEqualScoresTheLowerClassStandsFirst() {
        ClassScores equal = new ClassScores(new float[] {1, 1, 1}, 3);

        assertThat(equal.top(0)).isZero();
        assertThat(equal.hits(1, new long[] {0})).isEqualTo(1);
        assertThat(equal.hits(2, new long[] {2})).isZero();
    }

    /** A model that has diverged is never right, not even with as many places as classes. */
    @Test
    void notANumberIsNeverAHit() {
        ClassScores diverged = new ClassScores(new float[] {Float.NaN, Float.NaN, Float.NaN, 1, 5, Float.NaN}, 3);

        assertThat(diverged.hits(3, new long[] {0, 2})).isZero();
        assertThat(diverged.hits(1, new long[] {0, 1})).isEqualTo(1);
        assertThat(diverged.top(1)).isEqualTo(1);
    }

    @Test
    void sizesAndLabelsMustFit() {
        assertThatThrownBy(() -> new ClassScores(new float[5], 2)).hasMessageContainingAll("5", "2");
        assertThatThrownBy(() -> TWO.hits(1, new long[] {0})).hasMessageContainingAll("1 labels", "2 samples");
        assertThatThrownBy(() -> TWO.hits(1, new long[] {0, 4})).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void noSamplesAreNoHits() {
        assertThat(new ClassScores(new float[0], 7).hits(1, new long[0])).isZero();
    }
}
