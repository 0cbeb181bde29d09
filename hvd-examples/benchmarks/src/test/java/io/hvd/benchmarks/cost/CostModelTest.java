package io.hvd.benchmarks.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;

/** Which way is the fastest, and how long it takes. */
class CostModelTest {
    private static final JobShape FOUR_HOSTS = new JobShape(4, 4);
    private static final Link NO_LINK = new Link(0, 0);

    /**
     * Between n hosts, doubling takes log2(n) (alpha + B beta) and the ring 2 (n-1) alpha + 2 (n-1)/n B beta, without
     * gamma: with n = 4 they meet where 4 alpha = B beta / 2.
     */
    @Test
    void theChoiceChangesWhereTheFormulasMeet() {
        CalibrationHost host = new CalibrationHost("made-up", 4, false, 0);
        Link link = new Link(10e-6, 1e-9);
        CostModel model = new CostModel(
                host,
                Map.of(
                        Algorithm.MPI, curve(Algorithm.MPI, Form.FEW_BYTES, link),
                        Algorithm.RING, curve(Algorithm.RING, Form.MANY_BYTES, link)));
        long crossing = Math.round(8 * 10e-6 / 1e-9);

        assertThat(fastest(model, 4, 4, crossing - 1)).isEqualTo(Algorithm.MPI);
        assertThat(fastest(model, 4, 4, crossing + 1)).isEqualTo(Algorithm.RING);
        assertThat(model.fastest(List.of(Algorithm.RING), FOUR_HOSTS, 1)).isEqualTo(Algorithm.RING);
    }

    @Test
    void theTimesAreThoseOfTheFormulas() {
        CalibrationHost host = new CalibrationHost("made-up", 1, false, 1e-9);
        Piece piece = new Piece(Form.MANY_BYTES, Long.MAX_VALUE, new Link(1e-6, 1e-9), 1e-3, new Link(1e-4, 1e-8));
        JobShape shape = new JobShape(4, 2);
        CostModel model = new CostModel(
                host,
                Map.of(
                        Algorithm.SHARED_MEMORY,
                                new Curve(Algorithm.SHARED_MEMORY, Set.of(new JobShape(2, 1)), List.of(piece)),
                        Algorithm.TWO_LEVEL, new Curve(Algorithm.TWO_LEVEL, Set.of(shape), List.of(piece))));

        // Two ranks on one core: inside a host everything takes twice as long, and 4 messages wait for the core.
        double inside = 2e-6 + 2 * 2e6 * 1e-9;
        double between = 2 * 1e-4 + 1e6 * 1e-8;
        double reduced = 2 * (0.5e6 + 0.25e6) * 1e-9;
        assertThat(model.seconds(Algorithm.TWO_LEVEL, shape, 1_000_000).orElseThrow())
                .isCloseTo(inside + between + reduced + 8 * 1e-3, Percentage.withPercentage(1e-6));
    }

    @Test
    void oneRankTakesNoTimeAndThreeHostsTakeTwoRoundsMoreThanAPowerOfTwo() {
        Curve doubling = curve(Algorithm.MPI, Form.FEW_BYTES, new Link(1, 0));

        assertThat(doubling.seconds(new JobShape(1, 1), 100, Made.HOST)).isZero();
        assertThat(doubling.seconds(new JobShape(2, 2), 0, Made.HOST)).isEqualTo(1);
        assertThat(doubling.seconds(new JobShape(3, 3), 0, Made.HOST)).isEqualTo(3);
        assertThat(doubling.seconds(new JobShape(256, 256), 0, Made.HOST)).isEqualTo(8);
    }

    @Test
    void moreBytesNeverTakeLessTimeEvenWhereANewPieceBegins() {
        Piece slow = new Piece(Form.FEW_BYTES, 10_000, new Link(1e-6, 1e-8), 0, NO_LINK);
        Piece fast = new Piece(Form.MANY_BYTES, Long.MAX_VALUE, new Link(1e-6, 1e-10), 0, NO_LINK);
        Curve curve = new Curve(Algorithm.MPI, Set.of(new JobShape(2, 1)), List.of(slow, fast));

        double before = 0;
        for (long bytes = 1; bytes < 1L << 32; bytes += 1 + bytes / 3) {
            double here = curve.seconds(new JobShape(2, 1), bytes, Made.HOST);
            assertThat(here).as("%d bytes", bytes).isGreaterThanOrEqualTo(before);
            before = here;
        }
        assertThat(before).isGreaterThan(0.1);
    }

    @Test
    void aWayThatDoesNotSuitTheJobIsNotTaken() {
        Piece slow = new Piece(Form.MANY_BYTES, Long.MAX_VALUE, new Link(1e-6, 1e-9), 0, Made.NETWORK);
        Curve slowRing = new Curve(Algorithm.RING, Set.of(new JobShape(2, 1), new JobShape(2, 2)), List.of(slow));
        CostModel model = Made.model(
                Made.curve(Algorithm.SHARED_MEMORY, Form.MANY_BYTES, new JobShape(2, 1)),
                Made.curve(Algorithm.TWO_LEVEL, Form.MANY_BYTES, new JobShape(4, 2)),
                slowRing);

        assertThat(fastest(model, 4, 1, 1 << 20)).isEqualTo(Algorithm.SHARED_MEMORY);
        assertThat(fastest(model, 4, 2, 1 << 20)).isEqualTo(Algorithm.TWO_LEVEL);
        assertThat(fastest(model, 5, 2, 1 << 20)).as("hosts with 3 and 2 ranks").isEqualTo(Algorithm.RING);
        assertThat(fastest(model, 2, 2, 1 << 20)).as("one rank on each").isEqualTo(Algorithm.RING);
    }

    @Test
    void whatNobodyHasMeasuredIsLeftToMpiAndNotPredicted() {
        CostModel model = Made.model(Made.curve(Algorithm.RING, Form.MANY_BYTES, new JobShape(2, 1)));

        assertThat(fastest(model, 4, 4, 1 << 20)).isEqualTo(Algorithm.MPI);
        assertThat(model.seconds(Algorithm.RING, FOUR_HOSTS, 1 << 20)).isEmpty();
    }

    @Test
    void aJobWithoutARankForEachHostIsRefused() {
        assertThatThrownBy(() -> new JobShape(2, 3))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("2 ranks on 3 hosts");
    }

    private static Algorithm fastest(CostModel model, int ranks, int hosts, long bytes) {
        return model.fastest(List.of(Algorithm.values()), new JobShape(ranks, hosts), bytes);
    }

    private static Curve curve(Algorithm algorithm, Form form, Link between) {
        Piece piece = new Piece(form, Long.MAX_VALUE, NO_LINK, 0, between);
        return new Curve(algorithm, Set.of(FOUR_HOSTS), List.of(piece));
    }
}
