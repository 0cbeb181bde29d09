package io.hvd.examples.image;

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
}
