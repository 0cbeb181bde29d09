package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.train.Schedule;
import java.util.List;
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
    void theRateIsThatOfAllRanksAfterTheWarmUpAndDecaysByEpoch() throws ParseException {
        Schedule plain = parse("--lr-decay", "0.5").schedule(4);
        assertThat(List.of(plain.rate(0), plain.rate(0.9), plain.rate(2))).containsExactly(0.4, 0.4, 0.1);

        Schedule warm = parse("--warmup-epochs", "2").schedule(4);
        assertThat(List.of(warm.rate(0), warm.rate(1), warm.rate(2))).containsExactly(0.1, 0.25, 0.4);
        assertThat(parse("--warmup-epochs", "2", "--use-adasum").schedule(4).rate(0))
                .isEqualTo(0.1);
        assertThatThrownBy(() -> parse("--warmup-epochs", "-1"))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining("--warmup-epochs");
    }

    @Test
    void noSyncAddsUpSeveralPassesOrIsAMistake() throws ParseException {
        assertThat(parse("--no-sync", "--backward-passes-per-step", "2").noSync())
                .isTrue();
        assertThatThrownBy(() -> parse("--no-sync"))
                .isInstanceOf(ParseException.class)
                .hasMessage("--no-sync needs --backward-passes-per-step of 2 or more");
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

    @ParameterizedTest
    @ValueSource(
            strings = {"--resume", "--checkpoint x", "--use-adasum", "--backward-passes-per-step 2", "--top-k 0.1"})
    void whatDoesNotGoWithASeriesOfCheckpointsIsAMistakeInTheFlags(String other) {
        assertThatThrownBy(() -> parse(("--checkpoint-dir x " + other).split(" ")))
                .isInstanceOf(ParseException.class)
                .hasMessageContainingAll("--checkpoint-dir", other.split(" ")[0], " exclude each other");
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

    @Test
    void anExitCodeAfterSigtermIsOneOfASeriesOfCheckpoints() throws ParseException {
        assertThat(parse("--checkpoint-dir", "d").series().sigtermExitCode()).isZero();
        assertThat(parse("--checkpoint-dir", "d", "--sigterm-exit-code", "75")
                        .series()
                        .sigtermExitCode())
                .isEqualTo(75);
        assertThatThrownBy(() -> parse("--sigterm-exit-code", "75"))
                .isInstanceOf(ParseException.class)
                .hasMessage("--sigterm-exit-code needs --checkpoint-dir DIR");
        assertThatThrownBy(() -> parse("--checkpoint-dir", "d", "--sigterm-exit-code", "256"))
                .isInstanceOf(ParseException.class)
                .hasMessageStartingWith("--sigterm-exit-code is \"256\"");
    }
}
