package io.hvd.benchmarks.cost;

/**
 * What an allreduce costs: the work of the host's cores, messages included, and the bytes on its link. Data goes in
 * chunks. The link stands still during the first share of the work, the lead, and is busy during the rest. With one chunk
 * the two follow each other.
 *
 * @param workSeconds the time without a limit of the link
 * @param lead the part of the work that nothing overlaps, from 0 to 1
 * @param wireSeconds the time in which the bytes of a host pass its link one way
 */
public record Cost(double workSeconds, double lead, double wireSeconds) {

    /** Whichever of the rest of the work and the link takes longer counts. */
    public double seconds() {
        return lead * workSeconds + Math.max(wireSeconds, (1 - lead) * workSeconds);
    }

    /** The part of the time in which the link is busy. */
    public double linkShare() {
        return seconds() == 0 ? 0 : wireSeconds / seconds();
    }

    /** Whether the link takes longer than the work that overlaps it. */
    boolean isOfLink() {
        return wireSeconds > (1 - lead) * workSeconds;
    }

    Cost withWork(double seconds) {
        return new Cost(seconds, lead, wireSeconds);
    }
}
