package io.hvd.doctor.network;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.doctor.network.MeasurementRounds.Pair;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class MeasurementRoundsTest {

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 8, 13})
    void everyHostMeetsEveryOtherBothWaysAndNeverTwoAtOnce(int hosts) {
        List<List<Pair>> rounds = MeasurementRounds.of(hosts);

        assertThat(rounds).hasSizeLessThanOrEqualTo(2 * hosts);
        assertThat(rounds.stream().flatMap(List::stream))
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, hosts * hosts)
                        .mapToObj(i -> new Pair(i / hosts, i % hosts))
                        .filter(pair -> pair.from() != pair.to())
                        .toList());
        assertThat(rounds)
                .allSatisfy(round -> assertThat(round.stream().flatMap(pair -> Stream.of(pair.from(), pair.to())))
                        .doesNotHaveDuplicates());
    }
}
