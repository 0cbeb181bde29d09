package io.hvd.backend.mpi.bindings;

import io.hvd.config.HvdConfig.AllreduceAlgorithm;
import io.hvd.cost.Algorithm;
import io.hvd.cost.CostModel;
import io.hvd.cost.JobShape;
import java.util.List;
import java.util.Optional;

/**
 * How an allreduce between processes goes. It depends on nothing but what all of them know alike, so that all choose
 * the same.
 *
 * @param asked for by the user
 * @param hosts on which the ranks are
 * @param model of what each way costs there, if the user has had one measured
 */
record AllreduceChoice(AllreduceAlgorithm asked, int hosts, Optional<CostModel> model) {
    /** From here on a ring of two and three hosts was faster than MPI_Allreduce at 1 Gbit/s. */
    private static final long RING_BYTES = 256 << 10;

    /** The algorithms that may move the data. */
    private static final List<Algorithm> WAYS = List.of(Algorithm.MPI, Algorithm.RING);

    /**
     * @param ranks that reduce together
     * @param bytes of all tensors in the type that travels
     */
    Algorithm of(int ranks, long bytes) {
        if (ranks == 1 || asked == AllreduceAlgorithm.MPI) {
            return Algorithm.MPI;
        }
        if (asked == AllreduceAlgorithm.RING) {
            return Algorithm.RING;
        }
        return fastest(new JobShape(ranks, hosts), bytes);
    }

    private Algorithm fastest(JobShape shape, long bytes) {
        return model.filter(known -> WAYS.stream()
                        .allMatch(way -> known.seconds(way, shape, bytes).isPresent()))
                .map(known -> known.fastest(WAYS, shape, bytes))
                .orElse(hosts > 1 && bytes >= RING_BYTES ? Algorithm.RING : Algorithm.MPI);
    }
}
