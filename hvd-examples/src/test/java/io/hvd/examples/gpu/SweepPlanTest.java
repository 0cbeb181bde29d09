package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SweepPlanTest {
    private static SweepPlan plan(boolean quick, String... flags) throws ParseException {
        Options options = new Options();
        SweepPlan.addTo(options);
        return SweepPlan.of(new DefaultParser().parse(options, flags), quick);
    }

    @Test
    void withoutFlagsItIsThatOfNcclTests() throws ParseException {
        SweepPlan plan = plan(false);

        assertThat(plan.sizes()).hasSize(25).startsWith(8L, 16L, 32L).endsWith(128L << 20);
        assertThat(plan.warmUps()).isEqualTo(5);
        assertThat(plan.calls()).isEqualTo(20);
        assertThat(plan.collectives()).containsExactly(SweepCollective.values());
        assertThat(plan(true).sizes()).endsWith(64L << 10);
    }

    @Test
    void flagsChooseSizesCallsAndCollectives() throws ParseException {
        SweepPlan plan = plan(
                true,
                "--collectives=alltoall,broadcast",
                "--begin=4K",
                "--end=1m",
                "--factor=4",
                "--warm-ups=0",
                "--calls=3");

        assertThat(plan.sizes()).containsExactly(4096L, 16384L, 65536L, 262144L, 1048576L);
        assertThat(plan.collectives()).containsExactly(SweepCollective.ALLTOALL, SweepCollective.BROADCAST);
        assertThat(plan.warmUps()).isZero();
        assertThat(plan.calls()).isEqualTo(3);
    }

    @ParameterizedTest
    @CsvSource({
        "--begin=3, 'expected bytes from 4 to 1G'",
        "--end=2G, 'expected bytes from 4 to 1G'",
        "--end=many, 'expected bytes from 4 to 1G'",
        "--end=4, 'expected at least --begin, 8'",
        "--factor=1, --factor is \"1\"",
        "--calls=0, --calls is \"0\"",
        "--collectives=allreduce+reduce, 'expected some of [allreduce, allgather, reducescatter, broadcast, alltoall]'"
    })
    void mistakesAreNamed(String flag, String message) {
        assertThatThrownBy(() -> plan(false, flag))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining(message);
    }
}
