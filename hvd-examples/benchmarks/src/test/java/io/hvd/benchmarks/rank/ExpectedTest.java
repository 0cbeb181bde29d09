package io.hvd.benchmarks.rank;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Rank 0 of two brings 1, 2, 3 and 4, rank 1 brings 2, 3, 4 and 5. */
class ExpectedTest {
    /** Three floats are no two pieces of one length, so a piece has two. */
    @ParameterizedTest
    @MethodSource
    void isWhatIsLeftBehindOnRankOne(Expected expected, List<Float> floats) {
        PlaceInJob job = new PlaceInJob(1, 2);

        assertThat(IntStream.range(0, expected.elements(3, job)).mapToObj(i -> expected.at(i, 3, job)))
                .containsExactlyElementsOf(floats);
    }

    static Stream<Arguments> isWhatIsLeftBehindOnRankOne() {
        return Stream.of(
                Arguments.of(Expected.NOTHING, List.of()),
                Arguments.of(Expected.SUM, List.of(3f, 5f, 7f)),
                Arguments.of(Expected.AVERAGE, List.of(1.5f, 2.5f, 3.5f)),
                Arguments.of(Expected.OF_THE_ROOT, List.of(1f, 2f, 3f)),
                Arguments.of(Expected.GATHERED, List.of(1f, 2f, 2f, 3f)),
                Arguments.of(Expected.PIECE_OF_SUM, List.of(7f, 9f)));
    }
}
