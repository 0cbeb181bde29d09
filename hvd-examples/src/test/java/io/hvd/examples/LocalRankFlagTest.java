package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LocalRankFlagTest {
    @ParameterizedTest
    @ValueSource(strings = {"local-rank", "local_rank"})
    void bothSpellingsAreComparedWithTheLocalRank(String spelling) {
        List<Optional<String>> said = Hvd.spawn(2, hvd -> LocalRankFlag.difference(line("--" + spelling + "=1"), hvd));

        assertThat(said.get(0).orElseThrow()).contains("rank 0: --" + spelling + " says 1", "local rank 0");
        assertThat(said.get(1)).isEmpty();
    }

    @Test
    void withoutTheFlagOrAValueThatKnowsNothingIsSaid() {
        assertThat(Hvd.spawn(2, hvd -> LocalRankFlag.difference(line(), hvd))).allMatch(Optional::isEmpty);
        assertThat(Hvd.spawn(2, hvd -> LocalRankFlag.difference(line("--local_rank=-1"), hvd)))
                .allMatch(Optional::isEmpty);
    }

    @Test
    void whatIsNoNumberIsNamed() {
        assertThatThrownBy(() -> Hvd.spawn(1, hvd -> LocalRankFlag.difference(line("--local-rank=one"), hvd)))
                .hasStackTraceContaining("--local-rank is \"one\", expected a whole number");
    }

    private static CommandLine line(String... args) throws ParseException {
        Options flags = new Options();
        LocalRankFlag.addTo(flags);
        return new DefaultParser().parse(flags, args);
    }
}
