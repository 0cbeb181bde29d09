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
        CalibrationHost host = new CalibrationHost("made-up", 4, false, 0, Double.POSITIVE_INFINITY);
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
        CalibrationHost host = new CalibrationHost("made-up", 1, false, 1e-9, Double.POSITIVE_INFINITY);
        Piece piece = new Piece(Form.MANY_BYTES, Long.MAX_VALUE, new Link(1e-6, 1e-9), 1e-3, new Link(1e-4, 1e-8));
        JobShape shape = new JobShape(4, 2);
        CostModel model = new CostModel(
                host,
                Map.of(
                        Algorithm.SHARED_MEMORY,
                                new Curve(Algorithm.SHARED_MEMORY, Set.of(new JobShape(2, 1)), List.of(piece)),
                        Algorithm.TWO_LEVEL, new Curve(Algorithm.TWO_LEVEL, Set.of(shape), List.of(piece))));

        // Two ranks on one core: all bytes take twice as long, and 4 messages wait for the core.
        double inside = 2e-6 + 2 * 2e6 * 1e-9;
        double between = 2 * 1e-4 + 2 * 0.5e6 * 1e-8;
        double reduced = 2 * (0.5e6 + 0.25e6) * 1e-9;
        double work = inside + between + reduced + 8 * 1e-3;
        assertThat(model.seconds(Algorithm.TWO_LEVEL, shape, 1_000_000).orElseThrow())
                .isCloseTo(work, Percentage.withPercentage(1e-6));
        // The link carries 1 MB each way after the work in the host, and in half of that between the hosts: it is of
        // two ranks.
        double workBetween = 2 * 1e-4 + 2 * 0.5e6 * 1e-8 + 2 * 0.25e6 * 1e-9 + 4 * 1e-3;
        assertThat(model.withLink(1e7)
                        .seconds(Algorithm.TWO_LEVEL, shape, 1_000_000)
                        .orElseThrow())
                .isCloseTo(work - workBetween / 2 + 0.1, Percentage.withPercentage(1e-6));
    }

    @Test
    void theLinkCarriesOneChunkWhileTheRanksWorkOnTheNext() {
        JobShape shape = new JobShape(32, 8);
        long bytes = 64L << 20;
        CostModel model = Made.model(
                Made.curve(Algorithm.SHARED_MEMORY, Form.MANY_BYTES, new JobShape(2, 1)),
                Made.curve(Algorithm.TWO_LEVEL, Form.MANY_BYTES, new JobShape(4, 2)));
        double work = model.seconds(Algorithm.TWO_LEVEL, shape, bytes).orElseThrow();
        double inside = model.curves()
                .get(Algorithm.SHARED_MEMORY)
                .cost(shape, bytes, model.host())
                .workSeconds();

        Cost slow = model.withLink(1e8).cost(Algorithm.TWO_LEVEL, shape, bytes).orElseThrow();
        double wire = 2.0 * 7 / 8 * bytes / 1e8;
        assertThat(slow.wireSeconds()).isCloseTo(wire, Percentage.withPercentage(1e-6));
        assertThat(slow.seconds())
                .as("the work in memory, that of one of four ranks for the first of 16 chunks, then the link")
                .isCloseTo(inside + (work - inside) / 16 / 4 + wire, Percentage.withPercentage(1e-6));
        assertThat(slow.linkShare()).isBetween(0.9, 1.0);

        Cost fast = model.withLink(1e11).cost(Algorithm.TWO_LEVEL, shape, bytes).orElseThrow();
        assertThat(fast.seconds()).isCloseTo(work, Percentage.withPercentage(1e-6));
        assertThat(fast.linkShare()).isLessThan(0.1);
    }

    @Test
    void whatTwoLevelsTakeBeyondTheRingsMessagesIsWorkInMemory() {
        JobShape shape = new JobShape(32, 8);
        Piece slower = new Piece(Form.MANY_BYTES, Long.MAX_VALUE, NO_LINK, 20e-6, new Link(50e-6, 12e-9));
        Curve twoLevel = new Curve(Algorithm.TWO_LEVEL, Set.of(shape), List.of(slower));
        CostModel without = Made.model(Made.curve(Algorithm.SHARED_MEMORY, Form.MANY_BYTES, shape), twoLevel);
        CostModel with = Made.model(
                Made.curve(Algorithm.SHARED_MEMORY, Form.MANY_BYTES, shape),
                twoLevel,
                Made.curve(Algorithm.RING, Form.MANY_BYTES, shape));

        // Each rank sends 2 * 7/8 of its 1 MiB, which takes 4 ns a byte longer than in the ring; three quarters
        // overlapped it.
        double beyond = 4e-9 * 2 * 7 / 8 * (1 << 20);
        assertThat(lead(with, shape) - lead(without, shape)).isCloseTo(0.75 * beyond, Percentage.withPercentage(1e-6));
    }

    private static double lead(CostModel model, JobShape shape) {
        return model.cost(Algorithm.TWO_LEVEL, shape, 4 << 20).orElseThrow().leadSeconds();
    }

    /** 64 MiB are 16 chunks, or 64 with four ranks, two at once; a ring of 10,000 ranks sends four of 4 MiB at once. */
    @Test
    void everyTurnOfChunksWaitsForItsMessages() {
        assertThat(alphas(Algorithm.TWO_LEVEL, new JobShape(32, 8), 4L << 20)).isEqualTo(14);
        assertThat(alphas(Algorithm.TWO_LEVEL, new JobShape(32, 8), 64L << 20)).isEqualTo(8 * 14);
        assertThat(alphas(Algorithm.TWO_LEVEL, new JobShape(4, 2), 64L << 20)).isEqualTo(32 * 2);
        assertThat(alphas(Algorithm.RING, new JobShape(10_000, 1250), 64L << 20))
                .isEqualTo(4 * 2 * 9999);
        assertThat(alphas(Algorithm.RING, new JobShape(2, 2), 126L << 15)).isEqualTo(2);
    }

    private static double alphas(Algorithm algorithm, JobShape shape, long bytes) {
        return Terms.of(algorithm, Form.MANY_BYTES, shape, bytes, Made.HOST.withOwnCores(8))
                .between();
    }

    @Test
    void hostsWithCoresOfTheirOwnDoNotWaitForEachOther() {
        CostModel shared = new CostModel(
                new CalibrationHost("made-up", 2, true, 1e-10, Double.POSITIVE_INFINITY),
                Made.model(Made.curve(Algorithm.RING, Form.MANY_BYTES, new JobShape(2, 2)))
                        .curves());

        double own = shared.withOwnCores(1)
                .seconds(Algorithm.RING, FOUR_HOSTS, 1 << 20)
                .orElseThrow();
        assertThat(shared.seconds(Algorithm.RING, FOUR_HOSTS, 1 << 20).orElseThrow())
                .isGreaterThan(1.5 * own);
    }

    @Test
    void oneRankTakesNoTimeAndThreeHostsTakeTwoRoundsMoreThanAPowerOfTwo() {
        Curve doubling = curve(Algorithm.MPI, Form.FEW_BYTES, new Link(1, 0));

        assertThat(alone(doubling, new JobShape(1, 1), 100)).isZero();
        assertThat(alone(doubling, new JobShape(2, 2), 0)).isEqualTo(1);
        assertThat(alone(doubling, new JobShape(3, 3), 0)).isEqualTo(3);
        assertThat(alone(doubling, new JobShape(256, 256), 0)).isEqualTo(8);
    }

    @Test
    void moreBytesNeverTakeLessTimeEvenWhereANewPieceBegins() {
        Piece slow = new Piece(Form.FEW_BYTES, 10_000, new Link(1e-6, 1e-8), 0, NO_LINK);
        Piece fast = new Piece(Form.MANY_BYTES, Long.MAX_VALUE, new Link(1e-6, 1e-10), 0, NO_LINK);
        Curve curve = new Curve(Algorithm.MPI, Set.of(new JobShape(2, 1)), List.of(slow, fast));

        double before = 0;
        for (long bytes = 1; bytes < 1L << 32; bytes += 1 + bytes / 3) {
            double here = alone(curve, new JobShape(2, 1), bytes);
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
        assertThat(fastest(model, 2, 2, 1 << 20)).as("one rank on each").isEqualTo(Algorithm.RING);
    }

    @Test
    void whatNobodyHasMeasuredIsLeftToMpiAndNotPredicted() {
        CostModel model = Made.model(Made.curve(Algorithm.RING, Form.MANY_BYTES, new JobShape(2, 1)));

        assertThat(fastest(model, 4, 4, 1 << 20)).isEqualTo(Algorithm.MPI);
        assertThat(model.seconds(Algorithm.RING, FOUR_HOSTS, 1 << 20)).isEmpty();
    }

    @Test
    void aJobWithoutAsManyRanksOnEachHostIsRefused() {
        assertThatThrownBy(() -> new JobShape(2, 3))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("2 ranks on 3 hosts");
        assertThatThrownBy(() -> new JobShape(5, 2))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("5 ranks on 2 hosts, expected at least one host and as many ranks on each");
    }

    private static double alone(Curve curve, JobShape shape, long bytes) {
        return curve.cost(shape, bytes, Made.HOST).seconds();
    }

    private static Algorithm fastest(CostModel model, int ranks, int hosts, long bytes) {
        return model.fastest(List.of(Algorithm.values()), new JobShape(ranks, hosts), bytes);
    }

    private static Curve curve(Algorithm algorithm, Form form, Link between) {
        Piece piece = new Piece(form, Long.MAX_VALUE, NO_LINK, 0, between);
        return new Curve(algorithm, Set.of(FOUR_HOSTS), List.of(piece));
    }
}
