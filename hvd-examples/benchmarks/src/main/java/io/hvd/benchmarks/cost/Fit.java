package io.hvd.benchmarks.cost;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Fits a cost model to measurements. For each algorithm it finds the pieces, bounds and parameters with the smallest
 * sum of squared relative errors. Errors are relative so that a latency counts as much as the time of a large message.
 */
public final class Fit {
    private static final int MOST_PIECES = 3;
    /**
     * The number of sizes that each kind of job needs: two sizes tell the cost of a message from that of a byte, and
     * the third one can contradict them.
     */
    private static final int SIZES_PER_PIECE = 3;
    /** A further piece is accepted only if the error falls below this share of the error without it. */
    private static final double WORTH_A_PIECE = 0.7;
    /**
     * The number of iterations. Errors are relative to predictions too, so each solution changes the weights for the
     * next one.
     */
    private static final int ROUNDS = 4;

    private final CalibrationHost host;
    private final Algorithm algorithm;
    /** The curve of the part inside the hosts, which is known already; null for algorithms without such a part. */
    private final Curve inside;

    /** The cost of a message between hosts, which is known already for two levels; 0 if it is to be found. */
    private final double alphaSeconds;

    private final List<Sample> samples;
    private final List<Long> sizes;
    private final Set<JobShape> shapes;

    private Fit(CalibrationHost host, Algorithm algorithm, Curve inside, double alphaSeconds, List<Sample> samples) {
        this.host = host;
        this.algorithm = algorithm;
        this.inside = inside;
        this.alphaSeconds = alphaSeconds;
        this.samples = samples;
        this.sizes = samples.stream().map(Sample::bytes).distinct().sorted().toList();
        this.shapes = samples.stream().map(Sample::shape).collect(Collectors.toSet());
    }

    /**
     * The model that fits the samples best.
     *
     * @param samples the measurements; for each algorithm and kind of job the same sizes, at least three
     * @throws HvdException if there are too few samples
     */
    public static CostModel of(CalibrationHost host, List<Sample> samples) {
        Map<Algorithm, List<Sample>> byAlgorithm =
                samples.stream().collect(Collectors.groupingBy(Sample::algorithm, TreeMap::new, Collectors.toList()));
        Map<Algorithm, Curve> curves = new EnumMap<>(Algorithm.class);
        byAlgorithm.forEach((algorithm, some) -> curves.put(
                algorithm,
                new Fit(host, algorithm, inside(algorithm, curves), alpha(algorithm, curves), some).curve()));
        return new CostModel(host, curves);
    }

    /**
     * The curve inside the hosts for two levels. It comes from shared memory on one host, because measurements with two
     * hosts alone could not tell the time inside the hosts from the time between them.
     */
    private static Curve inside(Algorithm algorithm, Map<Algorithm, Curve> fitted) {
        if (algorithm != Algorithm.TWO_LEVEL) {
            return null;
        }
        Curve shared = fitted.get(Algorithm.SHARED_MEMORY);
        if (shared == null) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "there are measurements of two-level and none of shared-memory, expected both: calibrate on one host"
                            + " too, with --ranks");
        }
        return shared;
    }

    /**
     * Between the hosts of two levels a ring sends the messages. A ring of one rank on each host shows what they cost where
     * the ranks need not wait for a core; two levels on hosts that share cores would not.
     */
    private static double alpha(Algorithm algorithm, Map<Algorithm, Curve> fitted) {
        Curve ring = fitted.get(Algorithm.RING);
        return algorithm == Algorithm.TWO_LEVEL && ring != null
                ? ring.pieces().get(0).between().alphaSeconds()
                : 0;
    }

    /** Pieces from some size on, with their error. */
    private record Candidate(List<Piece> pieces, double error) {
        Candidate before(Candidate rest) {
            List<Piece> all = new ArrayList<>(pieces);
            all.addAll(rest.pieces);
            return new Candidate(all, error + rest.error);
        }
    }

    private Curve curve() {
        Candidate best = split(0, 1, Form.FEW_BYTES)
                .orElseThrow(() -> new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "too few measurements of " + algorithm.word() + " with " + shapes
                                + " (ranks x hosts): found the sizes " + sizes + ", expected the same "
                                + SIZES_PER_PIECE + " or more sizes of each"));
        for (int pieces = 2; pieces <= MOST_PIECES; pieces++) {
            Optional<Candidate> more = split(0, pieces, Form.FEW_BYTES);
            if (more.isPresent() && more.get().error < WORTH_A_PIECE * best.error) {
                best = more.get();
            }
        }
        return new Curve(algorithm, shapes, best.pieces);
    }

    /**
     * The best pieces, of the given number, for the sizes from the given one on; the form for few bytes comes first.
     */
    private Optional<Candidate> split(int from, int pieces, Form least) {
        Candidate best = null;
        for (Form form : Form.values()) {
            int first = pieces == 1 ? sizes.size() - 1 : from + SIZES_PER_PIECE - 1;
            for (int last = first; form.compareTo(least) >= 0 && last < sizes.size(); last++) {
                boolean has = algorithm.forms(sizes.get(last)).contains(form);
                Optional<Candidate> whole = has ? whole(form, from, last, pieces) : Optional.empty();
                if (whole.isPresent() && (best == null || whole.get().error < best.error)) {
                    best = whole.get();
                }
            }
        }
        return Optional.ofNullable(best);
    }

    private Optional<Candidate> whole(Form form, int from, int last, int pieces) {
        Optional<Candidate> head = piece(form, from, last);
        return pieces == 1 || head.isEmpty()
                ? head
                : split(last + 1, pieces - 1, form).map(rest -> head.get().before(rest));
    }

    private Optional<Candidate> piece(Form form, int from, int last) {
        if (from >= sizes.size()) {
            return Optional.empty();
        }
        long least = sizes.get(from);
        long most = sizes.get(last);
        List<Sample> some = samples.stream()
                .filter(sample -> sample.bytes() >= least && sample.bytes() <= most)
                .toList();
        if (!hasEnoughOfEach(some)) {
            return Optional.empty();
        }
        LeastSquares.Solution found = solved(form, some);
        double[] unknowns = found.unknowns();
        Piece piece = new Piece(
                form,
                last + 1 == sizes.size() ? Long.MAX_VALUE : between(most, sizes.get(last + 1)),
                new Link(unknowns[0], unknowns[2]),
                unknowns[1],
                new Link(alphaSeconds + unknowns[3], unknowns[4]));
        return Optional.of(new Candidate(List.of(piece), found.error()));
    }

    private boolean hasEnoughOfEach(List<Sample> some) {
        return shapes.stream()
                .allMatch(shape -> some.stream()
                                .filter(sample -> sample.shape().equals(shape))
                                .map(Sample::bytes)
                                .distinct()
                                .count()
                        >= SIZES_PER_PIECE);
    }

    /** A bound between two sizes; the measurements do not show where between them the protocol changes. */
    private static long between(long size, long next) {
        return (long) Math.sqrt((double) size * next);
    }

    /**
     * Solves for the parameters. Errors are relative to the larger of the predicted and the measured time. A prediction
     * that is too high therefore counts no more than one that is too low, and a disturbed measurement no more than any
     * other wrong one.
     */
    private LeastSquares.Solution solved(Form form, List<Sample> some) {
        List<Row> rows = some.stream().map(sample -> row(form, sample)).toList();
        List<Cost> costs = rows.stream().map(row -> row.cost(row.measured)).toList();
        LeastSquares.Solution solution = null;
        for (int round = 0; round < ROUNDS; round++) {
            double[][] relative = new double[rows.size()][];
            double[] rest = new double[rows.size()];
            for (int i = 0; i < relative.length; i++) {
                Row row = rows.get(i);
                Cost cost = costs.get(i);
                double counts = cost.isOfLink() ? row.lead : 1;
                double fixed =
                        cost.isOfLink() ? row.known.leadSeconds() + row.known.wireSeconds() : row.known.workSeconds();
                double each = Math.max(row.measured, round == 0 ? 0 : cost.seconds());
                relative[i] = Arrays.stream(row.terms)
                        .map(term -> counts * term / each)
                        .toArray();
                rest[i] = (row.measured - fixed) / each;
            }
            solution = LeastSquares.solve(relative, rest);
            double[] unknowns = solution.unknowns();
            costs = rows.stream()
                    .map(row -> row.cost(LeastSquares.product(row.terms, unknowns)))
                    .toList();
        }
        return solution;
    }

    /**
     * One equation: the terms times the unknowns, and what is known, are the cost.
     *
     * @param lead the part of the unknown work in which the link stands still
     */
    private record Row(double[] terms, double lead, Cost known, double measured) {
        Cost cost(double unknownSeconds) {
            return known.plus(unknownSeconds, lead * unknownSeconds);
        }
    }

    private Row row(Form form, Sample sample) {
        JobShape shape = sample.shape();
        Terms terms = Terms.of(algorithm, form, shape, sample.bytes(), host);
        double sum = terms.reducedBytes() * host.gammaSecondsPerByte() + terms.between() * alphaSeconds;
        Cost known = new Cost(sum, terms.lead() * sum, terms.wireBytes() / host.linkBytesPerSecond());
        if (inside != null) {
            double there = inside.cost(shape, sample.bytes(), host).workSeconds();
            known = known.plus(there, there);
        }
        double[] coefficients = {
            terms.inside(),
            terms.crowded(),
            terms.insideBytes(),
            alphaSeconds > 0 ? 0 : terms.between(),
            terms.betweenBytes()
        };
        return new Row(coefficients, terms.lead(), known, sample.seconds());
    }
}
