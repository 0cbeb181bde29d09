package io.hvd.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class DatasetTest {

    private static final Dataset<String> LETTERS = Dataset.of(List.of("a", "b", "c", "d", "e"));

    @Test
    void aListIsADataSet() throws Exception {
        assertThat(all(LETTERS)).containsExactly("a", "b", "c", "d", "e");
    }

    @Test
    void laterChangesOfTheListDoNotShow() throws Exception {
        var list = new ArrayList<>(List.of("a", "b"));
        Dataset<String> dataset = Dataset.of(list);
        list.clear();

        assertThat(all(dataset)).containsExactly("a", "b");
    }

    @Test
    void aSubsetHasItsOwnOrderAndMayRepeat() throws Exception {
        assertThat(all(LETTERS.subset(4, 0, 4))).containsExactly("e", "a", "e");
        assertThat(all(LETTERS.subset())).isEmpty();
    }

    @Test
    void aSubsetOfIndicesOutsideIsRefused() {
        assertThatThrownBy(() -> LETTERS.subset(1, 5))
                .isInstanceOf(IndexOutOfBoundsException.class)
                .hasMessageContaining("5");
    }

    @Test
    void aSplitIsPinnedByItsSeed() throws Exception {
        Dataset.Split<String> split = LETTERS.split(0.6, 42);

        assertThat(all(split.first())).containsExactly("b", "c", "e");
        assertThat(all(split.second())).containsExactly("a", "d");
    }

    @Test
    void aSplitLosesAndRepeatsNothing() throws Exception {
        Dataset<Integer> numbers = Dataset.of(IntStream.range(0, 1797).boxed().toList());
        Dataset.Split<Integer> split = numbers.split(0.8, 7);

        assertThat(split.first().size()).isEqualTo(1438);
        assertThat(split.second().size()).isEqualTo(359);
        List<Integer> both = new ArrayList<>(all(split.first()));
        both.addAll(all(split.second()));
        assertThat(both).containsExactlyInAnyOrderElementsOf(all(numbers));
    }

    @Test
    void aSplitMayGiveEverythingToOneSide() {
        assertThat(LETTERS.split(0, 1).first().size()).isZero();
        assertThat(LETTERS.split(1, 1).second().size()).isZero();
    }

    @Test
    void aFractionOutsideItsRangeIsRefused() {
        for (double fraction : new double[] {-0.1, 1.1, Double.NaN}) {
            assertThatThrownBy(() -> LETTERS.split(fraction, 1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("fraction", "[0, 1]", String.valueOf(fraction));
        }
    }

    private static <T> List<T> all(Dataset<T> dataset) throws Exception {
        var samples = new ArrayList<T>();
        for (int i = 0; i < dataset.size(); i++) {
            samples.add(dataset.get(i));
        }
        return samples;
    }
}
