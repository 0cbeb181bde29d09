package io.hvd.benchmarks.cost;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The cost of each algorithm on some machine and network, as far as it was measured there. */
public record CostModel(CalibrationHost host, Map<Algorithm, Curve> curves) {
    public CostModel {
        curves = curves.isEmpty() ? Map.of() : Collections.unmodifiableMap(new EnumMap<>(curves));
    }

    /**
     * The algorithm to use for a sum of this size; MPI's own if no other one is known to be faster.
     *
     * @param hosts number of hosts, over which the ranks are distributed as evenly as possible
     */
    public Algorithm fastest(int ranks, int hosts, long bytes) {
        return fastest(List.of(Algorithm.values()), new JobShape(ranks, hosts), bytes);
    }

    /** The fastest of the given algorithms. */
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

    /** The time of a sum with an algorithm; empty if it uses links that were not measured. */
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
     * The time of a sum with the fastest algorithm.
     *
     * @throws HvdException if the measurements do not suffice for this job
     */
    public double seconds(JobShape shape, long bytes) {
        if (shape.ranks() == 1) {
            return 0;
        }
        Algorithm fastest = fastest(List.of(Algorithm.values()), shape, bytes);
        return seconds(fastest, shape, bytes)
                .orElseThrow(() -> new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "the cost model cannot predict times of " + shape.ranks() + " ranks on " + shape.hosts()
                                + " hosts: it was calibrated with " + seen()
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
