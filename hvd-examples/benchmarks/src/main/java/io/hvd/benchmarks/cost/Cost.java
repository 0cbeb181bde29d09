package io.hvd.benchmarks.cost;

/**
 * What an allreduce costs: the work of the host's cores, messages included, and the bytes on its link. The link stands
 * still during a part of the work, the lead, and is busy during the rest.
 *
 * @param workSeconds the time without a limit of the link
 * @param leadSeconds the part of the work that nothing overlaps
 * @param wireSeconds the time in which the bytes of a host pass its link one way
 */
public record Cost(double workSeconds, double leadSeconds, double wireSeconds) {

    /** Whichever of the rest of the work and the link takes longer counts. */
    public double seconds() {
        return leadSeconds + Math.max(wireSeconds, workSeconds - leadSeconds);
    }

    /** The part of the time in which the link is busy. */
    public double linkShare() {
        return seconds() == 0 ? 0 : wireSeconds / seconds();
    }

    /** Whether the link takes longer than the work that overlaps it. */
    boolean isOfLink() {
        return wireSeconds > workSeconds - leadSeconds;
    }

    Cost plus(double work, double lead) {
        return new Cost(workSeconds + work, leadSeconds + lead, wireSeconds);
    }
}
