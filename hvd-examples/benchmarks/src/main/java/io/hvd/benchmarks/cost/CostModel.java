package io.hvd.benchmarks.cost;

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

    /** The fastest of the given algorithms; MPI's own if the time of none of them is known. */
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
        return cost(algorithm, shape, bytes).map(Cost::seconds);
    }

    /** What a sum with an algorithm costs; empty if it uses links that were not measured. */
    public Optional<Cost> cost(Algorithm algorithm, JobShape shape, long bytes) {
        Curve curve = curves.get(algorithm);
        if (curve == null || !curve.knows(shape)) {
            return Optional.empty();
        }
        Cost cost = curve.cost(shape, bytes, host);
        if (algorithm != Algorithm.TWO_LEVEL) {
            return Optional.of(cost);
        }
        return Optional.ofNullable(curves.get(Algorithm.SHARED_MEMORY))
                .map(shared -> shared.cost(shape, bytes, host).workSeconds())
                .map(inside -> twoLevel(curve, cost, shape, bytes).plus(inside, inside));
    }

    /**
     * The cost between the hosts. What the messages do not cost by the ring's measure is work in memory: a chunk of two
     * levels is larger than the caches. A rank has one thread, which does not move messages on while it works there.
     */
    private Cost twoLevel(Curve curve, Cost cost, JobShape shape, long bytes) {
        Curve ring = curves.get(Algorithm.RING);
        if (ring == null) {
            return cost;
        }
        Cost ofMessages = new Curve(Algorithm.TWO_LEVEL, curve.seen(), ring.pieces()).cost(shape, bytes, host);
        double memory = Math.max(0, cost.workSeconds() - ofMessages.workSeconds());
        double share = 1 - memory / cost.workSeconds();
        return new Cost(cost.workSeconds(), memory + share * cost.leadSeconds(), cost.wireSeconds());
    }

    /** The same model with links that carry so many bytes per second each way. */
    public CostModel withLink(double bytesPerSecond) {
        return new CostModel(host.withLink(bytesPerSecond), curves);
    }

    /** The same model for hosts that have so many cores each, and share them with no other host. */
    public CostModel withOwnCores(int ofEach) {
        return new CostModel(host.withOwnCores(ofEach), curves);
    }
}
