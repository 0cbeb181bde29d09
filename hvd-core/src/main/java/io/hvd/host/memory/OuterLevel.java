package io.hvd.host.memory;

import io.hvd.spi.Activities;
import io.hvd.spi.BegunCollectives;
import io.hvd.spi.Collectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Tensor;

/**
 * The level between groups of ranks that have a memory each: the collectives of one rank of each group, numbered by
 * group. All tensors are direct buffers.
 */
public interface OuterLevel extends BegunCollectives, AutoCloseable {
    /** Gives the data plane a receiver for its activities. */
    void report(Activities to);

    /**
     * Reduces one tensor in place, unless a rank calls {@link #veto} instead.
     *
     * @return false if a rank has vetoed
     */
    boolean allreduceUnlessVetoed(Tensor tensor, Reduction how);

    /**
     * Takes part in the allreduce that the other ranks have begun, so that it fails for all of them.
     *
     * @param elements number of elements of its tensor
     */
    void veto(long elements, Reduction how);

    /** Gives up what is under way because the job has failed; the other ranks need not make this call. */
    void abandon();

    /** Releases what belongs to these ranks alone; each of them calls it. */
    @Override
    void close();

    /** A data plane of one rank of each group. */
    static OuterLevel of(DataPlane plane) {
        return new PlaneBetween(plane, plane, plane.begun());
    }

    /** Collectives of one rank of each group that cannot be vetoed. */
    static OuterLevel withoutVetoes(Collectives collectives) {
        return new PlaneBetween(collectives, null, BegunCollectives.atOnce(collectives));
    }
}
