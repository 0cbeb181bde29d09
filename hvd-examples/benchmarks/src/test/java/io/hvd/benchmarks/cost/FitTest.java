package io.hvd.benchmarks.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Planted parameters are found again. */
class FitTest {
    private static final long SEED = 20051;
    private static final List<Long> SIZES = Made.sizes(64, 11);

    @ParameterizedTest
    @EnumSource(
            value = Algorithm.class,
            names = {"MPI", "RING"})
    void plantedParametersAreFoundThroughNoise(Algorithm algorithm) {
        Curve planted = Made.curve(
                algorithm,
                Form.MANY_BYTES,
                new JobShape(2, 1),
                new JobShape(4, 1),
                new JobShape(8, 1),
                new JobShape(2, 2),
                new JobShape(4, 4));

        Curve found = fitted(Made.samples(Made.model(planted), SIZES, 0.03, new Random(SEED)))
                .curves()
                .get(algorithm);

        assertThat(found.seen()).isEqualTo(planted.seen());
        Piece piece = found.pieces().get(0);
        assertThat(piece.between().alphaSeconds()).as("seed " + SEED).isCloseTo(50e-6, Percentage.withPercentage(5));
        assertThat(piece.inside().alphaSeconds()).isCloseTo(1e-6, Percentage.withPercentage(10));
        assertThat(piece.crowdedSeconds()).isCloseTo(20e-6, Percentage.withPercentage(10));
        Piece last = found.pieces().get(found.pieces().size() - 1);
        assertThat(last.between().betaSecondsPerByte()).isCloseTo(8e-9, Percentage.withPercentage(5));
        assertThat(last.inside().betaSecondsPerByte()).isCloseTo(2e-10, Percentage.withPercentage(15));
    }

    /** What the model is for: hosts, ranks and sizes that nobody has measured. */
    @Test
    void jobsThatWereNotMeasuredArePredicted() {
        CostModel planted = Made.model(
                Made.curve(Algorithm.SHARED_MEMORY, Form.MANY_BYTES, new JobShape(2, 1), new JobShape(6, 1)),
                Made.curve(
                        Algorithm.TWO_LEVEL,
                        Form.MANY_BYTES,
                        new JobShape(4, 2),
                        new JobShape(12, 2),
                        new JobShape(10, 5)));
        CostModel found = fitted(Made.samples(planted, SIZES, 0.02, new Random(SEED)));

        for (JobShape other : List.of(new JobShape(16, 4), new JobShape(6, 3), new JobShape(256, 64))) {
            for (long bytes : List.of(3000L, 1L << 19, 100L << 20)) {
                double expected =
                        planted.seconds(Algorithm.TWO_LEVEL, other, bytes).orElseThrow();
                assertThat(found.seconds(Algorithm.TWO_LEVEL, other, bytes).orElseThrow())
                        .as("%s, %d bytes, seed %d", other, bytes, SEED)
                        .isCloseTo(expected, Percentage.withPercentage(8));
            }
        }
    }

    /** Small messages show what the ranks do, large ones the link, which the model is told of. */
    @Test
    void whatWasMeasuredOnASlowLinkIsPredictedForAFastOne() {
        CostModel planted = Made.model(
                Made.curve(Algorithm.SHARED_MEMORY, Form.MANY_BYTES, new JobShape(2, 1), new JobShape(6, 1)),
                Made.curve(Algorithm.TWO_LEVEL, Form.MANY_BYTES, new JobShape(4, 2), new JobShape(12, 2)));
        CostModel slow = planted.withLink(2e7);
        CostModel found = Fit.of(slow.host(), Made.samples(slow, SIZES, 0.01, new Random(SEED)));

        for (double link : List.of(5e6, 2e7, 1e8)) {
            for (JobShape other : List.of(new JobShape(4, 2), new JobShape(32, 8))) {
                for (long bytes : List.of(3000L, 1L << 20, 32L << 20)) {
                    assertThat(found.withLink(link)
                                    .seconds(Algorithm.TWO_LEVEL, other, bytes)
                                    .orElseThrow())
                            .as("%s, %d bytes, %s bytes/s, seed %d", other, bytes, link, SEED)
                            .isCloseTo(
                                    planted.withLink(link)
                                            .seconds(Algorithm.TWO_LEVEL, other, bytes)
                                            .orElseThrow(),
                                    Percentage.withPercentage(10));
                }
            }
        }
    }

    /** On hosts that share cores every message of two levels waits for one; a ring of one rank on each does not. */
    @Test
    void whatAMessageCostsBetweenHostsWithCoresOfTheirOwnComesFromTheRing() {
        CalibrationHost crowded = new CalibrationHost("made-up", 2, true, 1e-10, Double.POSITIVE_INFINITY);
        CostModel planted = new CostModel(
                crowded,
                Made.model(
                                Made.curve(Algorithm.SHARED_MEMORY, Form.MANY_BYTES, new JobShape(2, 1)),
                                Made.curve(Algorithm.RING, Form.MANY_BYTES, new JobShape(2, 2), new JobShape(4, 4)),
                                Made.curve(Algorithm.TWO_LEVEL, Form.MANY_BYTES, new JobShape(4, 2)))
                        .curves());
        CostModel found = Fit.of(crowded, Made.samples(planted, SIZES, 0.01, new Random(SEED)));

        JobShape large = new JobShape(64, 16);
        assertThat(found.withOwnCores(4)
                        .seconds(Algorithm.TWO_LEVEL, large, 1 << 20)
                        .orElseThrow())
                .as("seed %d", SEED)
                .isCloseTo(
                        planted.withOwnCores(4)
                                .seconds(Algorithm.TWO_LEVEL, large, 1 << 20)
                                .orElseThrow(),
                        Percentage.withPercentage(10));
    }

    @Test
    void aDisturbedMeasurementDoesNotSpoilTheRest() {
        JobShape shape = new JobShape(2, 2);
        CostModel planted = Made.model(Made.curve(Algorithm.RING, Form.MANY_BYTES, shape));
        List<Sample> samples = new ArrayList<>(Made.samples(planted, SIZES, 0, new Random(SEED)));
        Sample disturbed = samples.get(5);
        samples.set(5, new Sample(Algorithm.RING, shape, disturbed.bytes(), 30 * disturbed.seconds()));

        assertThat(fitted(samples).seconds(Algorithm.RING, shape, 300).orElseThrow())
                .isCloseTo(planted.seconds(Algorithm.RING, shape, 300).orElseThrow(), Percentage.withPercentage(20));
    }

    @Test
    void twoLevelsAloneAreRefused() {
        Sample alone = new Sample(Algorithm.TWO_LEVEL, new JobShape(4, 2), 64, 1);

        assertThatThrownBy(() -> fitted(List.of(alone)))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("two-level", "none of shared-memory", "--ranks");
    }

    @Test
    void aChangeOfProtocolIsFoundBetweenTheSizesAroundIt() {
        Set<JobShape> shapes = Set.of(new JobShape(2, 1), new JobShape(4, 1));
        Piece few = new Piece(Form.FEW_BYTES, 16 << 10, new Link(2e-6, 3e-9), 0, Made.NETWORK);
        Piece many = new Piece(Form.MANY_BYTES, Long.MAX_VALUE, new Link(30e-6, 3e-10), 0, Made.NETWORK);
        Curve planted = new Curve(Algorithm.MPI, shapes, List.of(few, many));

        CostModel found = fitted(Made.samples(Made.model(planted), SIZES, 0.01, new Random(SEED)));

        List<Piece> pieces = found.curves().get(Algorithm.MPI).pieces();
        assertThat(pieces.stream().map(Piece::form)).containsExactly(Form.FEW_BYTES, Form.MANY_BYTES);
        assertThat(pieces.get(0).upToBytes()).isBetween(16L << 10, 64L << 10);
        JobShape shape = new JobShape(4, 1);
        for (long bytes : List.of(100L, 10_000L, 1L << 20, 50L << 20)) {
            assertThat(found.seconds(Algorithm.MPI, shape, bytes).orElseThrow())
                    .isCloseTo(planted.cost(shape, bytes, Made.HOST).seconds(), Percentage.withPercentage(5));
        }
    }

    @Test
    void nothingBecomesNegativeWhereMoreBytesTookLessTime() {
        List<Sample> falling = Stream.of(1000L, 2000L, 4000L)
                .map(bytes -> new Sample(Algorithm.RING, new JobShape(2, 1), bytes, 1.0 / bytes))
                .toList();

        Piece piece = fitted(falling).curves().get(Algorithm.RING).pieces().get(0);

        assertThat(piece.inside().alphaSeconds()).isPositive();
        assertThat(piece.inside().betaSecondsPerByte()).isCloseTo(0, within(0.0));
    }

    @Test
    void tooFewSizesAreRefusedWithWhatIsThere() {
        Curve planted = Made.curve(Algorithm.RING, Form.MANY_BYTES, new JobShape(2, 1));

        assertThatThrownBy(() -> fitted(Made.samples(Made.model(planted), List.of(64L, 4096L), 0, new Random(SEED))))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-202", "ring", "2x1", "[64, 4096]", "3 or more");
    }

    private static CostModel fitted(List<Sample> samples) {
        return Fit.of(Made.HOST, samples);
    }
}
