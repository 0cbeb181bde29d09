package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ProcessorsTest {
    @Test
    void ranksThatRunOnTheSameProcessorsDivideThem() {
        assertThat(new Processors(16, false, false).share(4)).isEqualTo(4);
        assertThat(new Processors(2, false, false).share(4)).isEqualTo(1);
    }

    @Test
    void whatALauncherHasDividedIsNotDividedAgain() {
        assertThat(new Processors(4, false, true).share(4)).isEqualTo(4);
    }

    @Test
    void ranksThatAreBoundApartHaveTheirProcessorsTogether() {
        assertThat(new Processors(1, false, true).ofAll(2)).isEqualTo(2);
        assertThat(new Processors(2, false, false).ofAll(4)).isEqualTo(2);
        assertThat(new Processors(2, true, false).ofAll(4)).as("told").isEqualTo(2);
        assertThat(new Processors(2, true, false).share(4)).as("told").isEqualTo(2);
    }

    @Test
    void ranksThatAreBoundApartAreKnownByTheirMasks() {
        assertThat(isAlone("0-3", 3, "4-7", "8-11")).isTrue();
        assertThat(isAlone("0-3,8", 3, "4-7", "8-11")).as("one in common").isFalse();
        assertThat(isAlone("0-11", 3, "0-11", "0-11")).as("not bound").isFalse();
    }

    @Test
    void whereAnotherRankIsNotSeenTheProcessorsCountAsShared() {
        assertThat(isAlone("0-3", 3, "4-7")).as("one is missing").isFalse();
        assertThat(isAlone("0-3", 1)).as("nobody to be apart from").isFalse();
        assertThat(Processors.isAlone(
                        Processors.parse("0"), List.of(Optional.of(Processors.parse("1")), Optional.empty()), 3))
                .as("one is not readable")
                .isFalse();
    }

    @Test
    void thisProcessIsNotBoundApart() {
        assertThat(Processors.ofThisProcess(1))
                .isEqualTo(new Processors(Runtime.getRuntime().availableProcessors(), false, false));
    }

    @Test
    void aListOfProcessorsIsRead() {
        assertThat(Processors.parse("0-2,5,7-8").stream()).containsExactly(0, 1, 2, 5, 7, 8);
    }

    private static boolean isAlone(String mine, int localSize, String... others) {
        List<Optional<BitSet>> masks =
                Arrays.stream(others).map(Processors::parse).map(Optional::of).toList();
        return Processors.isAlone(Processors.parse(mine), masks, localSize);
    }
}
