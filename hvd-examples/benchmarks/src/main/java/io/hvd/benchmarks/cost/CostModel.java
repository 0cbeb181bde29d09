package io.hvd.benchmarks.cost;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What each algorithm costs on this machine and network, so far as it was measured there. */
public record CostModel(CalibrationHost host, Map<Algorithm, Curve> curves) {
    public CostModel {
        curves = curves.isEmpty() ? Map.of() : Collections.unmodifiableMap(new EnumMap<>(curves));
    }

    /**
     * The algorithm to take for a sum of so many bytes; MPI's own where nothing else is known to be faster.
     *
     * @param hosts on which the ranks are, as evenly as they can be
     */
    public Algorithm fastest(int ranks, int hosts, long bytes) {
        return fastest(List.of(Algorithm.values()), new JobShape(ranks, hosts), bytes);
    }

    /** The fastest of some algorithms. */
    public Algorithm fastest(List<Algorithm> among, JobShape shape, long bytes) {
        Algorithm fastest = Algorithm.MPI;
        double least = Double.MAX_VALUE;
        for (Algorithm each : curves.keySet()) {
            double takes = among.contains(each) ? seconds(each, shape, bytes).orElse(least) : least;
            if (takes < least) {
                fastest = each;
                least = takes;
            }
        }
        return fastest;
    }

    /** What such a sum takes; empty where links were not measured that it goes over. */
    public Optional<Double> seconds(Algorithm algorithm, JobShape shape, long bytes) {
        Curve curve = curves.get(algorithm);
        if (curve == null || !curve.knows(shape)) {
            return Optional.empty();
        }
        double seconds = curve.seconds(shape, bytes, host);
        return algorithm == Algorithm.TWO_LEVEL
                ? Optional.ofNullable(curves.get(Algorithm.SHARED_MEMORY))
                        .map(inside -> inside.seconds(shape, bytes, host) + seconds)
                : Optional.of(seconds);
    }

    /**
     * What such a sum takes by the fastest algorithm.
     *
     * @throws HvdException if nothing was measured from which that could be told
     */
    public double seconds(JobShape shape, long bytes) {
        if (shape.ranks() == 1) {
            return 0;
        }
        Algorithm fastest = fastest(List.of(Algorithm.values()), shape, bytes);
        return seconds(fastest, shape, bytes)
                .orElseThrow(() -> new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "the cost model cannot tell what " + shape.ranks() + " ranks on " + shape.hosts()
                                + " hosts take: it was calibrated with " + seen()
                                + " (ranks x hosts), expected a run with more than one host"
                                + (shape.perHost() > 1 ? ", and one with several ranks on a host" : "")
                                + "; calibrate with bench-model.sh --hosts"));
    }

    private List<String> seen() {
        return curves.values().stream()
                .flatMap(curve -> curve.seen().stream())
                .map(JobShape::toString)
                .distinct()
                .sorted()
                .toList();
    }
}
