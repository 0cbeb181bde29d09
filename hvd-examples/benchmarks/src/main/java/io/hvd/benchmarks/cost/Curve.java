package io.hvd.benchmarks.cost;

import java.util.List;
import java.util.Set;

/**
 * What an algorithm costs, by size: its protocol changes with it, and what fits into which cache. Known for the kinds of
 * jobs that were measured. That of two levels has what happens between hosts only.
 *
 * @param seen the jobs that were
 * @param pieces by size; the last one holds for everything above
 */
public record Curve(Algorithm algorithm, Set<JobShape> seen, List<Piece> pieces) {
    public Curve {
        seen = Set.copyOf(seen);
        pieces = List.copyOf(pieces);
    }

    /** Whether all links were measured that such a job uses. */
    boolean knows(JobShape shape) {
        return algorithm.suits(shape)
                && (shape.hosts() == 1 || seen.stream().anyMatch(each -> each.hosts() > 1))
                && (shape.perHost() == 1 || seen.stream().anyMatch(each -> each.perHost() > 1));
    }

    /** More bytes never take less time: at the end of a piece it may have come to more than the next one says. */
    double seconds(JobShape shape, long bytes, CalibrationHost host) {
        double least = 0;
        for (Piece piece : pieces) {
            long here = Math.min(bytes, piece.upToBytes());
            Terms terms = Terms.of(algorithm, piece.form(), shape, here, host);
            least = Math.max(least, piece.seconds(terms, host.gammaSecondsPerByte()));
            if (bytes <= piece.upToBytes()) {
                break;
            }
        }
        return least;
    }
}
