package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TrainingOptionsTest {
    private static final TrainingOptions.Defaults DEFAULTS = new TrainingOptions.Defaults(1, 8, 0.1, 1, 0);

    private static TrainingOptions parse(String... flags) throws ParseException {
        return TrainingOptions.from(new DefaultParser().parse(TrainingOptions.flags(DEFAULTS), flags), DEFAULTS);
    }

    @Test
    void adasumWantsAPowerOfTwo() throws ParseException {
        TrainingOptions adasum = parse("--use-adasum");
        for (int ranks : new int[] {1, 2, 4, 8}) {
            assertThatCode(() -> adasum.requireRanks(ranks)).doesNotThrowAnyException();
        }
        assertThatThrownBy(() -> adasum.requireRanks(6))
                .isInstanceOf(ParseException.class)
                .hasMessage(
                        "--use-adasum needs a number of ranks that is a power of two: found 6 ranks, expected 4 or 8");
        parse().requireRanks(6);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--device cuda", "--fp16-allreduce", "--backward-passes-per-step 2", "--sharded-optimizer"})
    void whatDoesNotGoWithAdasumIsAMistakeInTheFlags(String other) {
        assertThatThrownBy(() -> parse(("--use-adasum " + other).split(" ")))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining("--use-adasum and --")
                .hasMessageEndingWith(other.replaceAll(" 2$", "") + " exclude each other");
    }

    @Test
    void aReducerIsMadeAnewForEachRank() throws ParseException {
        var make = parse("--power-sgd", "2").reducer().orElseThrow();
        assertThat(make.get()).isNotSameAs(make.get());
        assertThat(make.get().settings()).contains("PowerSgd", "rank=2", "startIteration=10");
        assertThat(parse("--top-k", "0.25").reducer().orElseThrow().get().settings())
                .isEqualTo("TopK of 0.25");
        assertThat(parse("--int8").reducer().orElseThrow().get().settings()).isEqualTo("Int8");
        assertThat(parse().reducer()).isEmpty();
        assertThat(parse("--num-groups", "3").groups()).isEqualTo(3);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--top-k 0.1", "--fp16-allreduce", "--use-adasum", "--device cuda"})
    void whatDoesNotGoWithInt8IsAMistakeInTheFlags(String other) {
        assertThatThrownBy(() -> parse(("--int8 " + other).split(" ")))
                .isInstanceOf(ParseException.class)
                .hasMessageContainingAll("--int8", other.replaceAll(" 0.*", ""), " exclude each other");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--power-sgd 0", "--top-k 1.5", "--top-k 0", "--num-groups -1"})
    void valuesOutOfBoundsAreNamed(String flag) {
        assertThatThrownBy(() -> parse(flag.split(" ")))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining(flag.replace(" ", " is \"") + "\"");
    }
}
