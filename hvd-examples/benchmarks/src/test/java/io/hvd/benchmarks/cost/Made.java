package io.hvd.benchmarks.cost;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Models with planted parameters, and what they would measure. */
final class Made {
    static final CalibrationHost HOST = new CalibrationHost("made-up", 4, false, 1e-10, Double.POSITIVE_INFINITY);
    static final Link NETWORK = new Link(50e-6, 8e-9);
    static final Link MEMORY = new Link(1e-6, 2e-10);

    private Made() {}

    /** One piece for all sizes. */
    static Curve curve(Algorithm algorithm, Form form, JobShape... seen) {
        Piece piece = new Piece(form, Long.MAX_VALUE, MEMORY, 20e-6, NETWORK);
        return new Curve(algorithm, new LinkedHashSet<>(List.of(seen)), List.of(piece));
    }

    static CostModel model(Curve... curves) {
        Map<Algorithm, Curve> byAlgorithm = new java.util.EnumMap<>(Algorithm.class);
        for (Curve curve : curves) {
            byAlgorithm.put(curve.algorithm(), curve);
        }
        return new CostModel(HOST, byAlgorithm);
    }

    /** @param noise the most that a measurement is off, as a share of it */
    static List<Sample> samples(CostModel model, List<Long> sizes, double noise, Random random) {
        List<Sample> samples = new ArrayList<>();
        for (Curve curve : model.curves().values()) {
            for (JobShape shape : curve.seen().stream()
                    .sorted(Comparator.comparing(JobShape::toString))
                    .toList()) {
                for (long bytes : sizes) {
                    double seconds =
                            model.seconds(curve.algorithm(), shape, bytes).orElseThrow();
                    double off = 1 + noise * (2 * random.nextDouble() - 1);
                    samples.add(new Sample(curve.algorithm(), shape, bytes, off * seconds));
                }
            }
        }
        return samples;
    }

    /** Each four times the one before. */
    static List<Long> sizes(long first, int count) {
        List<Long> sizes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            sizes.add(first << 2 * i);
        }
        return sizes;
    }
}
