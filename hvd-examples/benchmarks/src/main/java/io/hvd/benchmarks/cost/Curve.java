package io.hvd.benchmarks.cost;

import java.util.List;
import java.util.Set;

/**
 * The cost of an algorithm by size. It consists of pieces, because the protocol changes with the size, and so does the
 * cache that holds the data. It is known for jobs that use the same links as the measured ones. The curve of two levels
 * covers only the part between hosts.
 *
 * @param seen the shapes of the jobs that were measured
 * @param pieces the pieces by size; the last one holds for all larger sizes
 */
public record Curve(Algorithm algorithm, Set<JobShape> seen, List<Piece> pieces) {
    public Curve {
        seen = Set.copyOf(seen);
        pieces = List.copyOf(pieces);
    }

    /** True if all links that a job of this shape uses were measured. */
    boolean knows(JobShape shape) {
        return algorithm.suits(shape)
                && (shape.hosts() == 1 || seen.stream().anyMatch(each -> each.hosts() > 1))
                && (shape.perHost() == 1 || seen.stream().anyMatch(each -> each.perHost() > 1));
    }

    /**
     * The cost for this number of bytes. More bytes are never less work: if a piece gives less than the one before gives
     * at its end, the larger time counts.
     */
    Cost cost(JobShape shape, long bytes, CalibrationHost host) {
        Cost cost = new Cost(0, 0, 0);
        for (Piece piece : pieces) {
            long here = Math.min(bytes, piece.upToBytes());
            Terms terms = Terms.of(algorithm, piece.form(), shape, here, host);
            double work = Math.max(cost.workSeconds(), piece.seconds(terms, host.gammaSecondsPerByte()));
            cost = new Cost(work, terms.lead() * work, terms.wireBytes() / host.linkBytesPerSecond());
            if (bytes <= piece.upToBytes()) {
                break;
            }
        }
        return cost;
    }
}
