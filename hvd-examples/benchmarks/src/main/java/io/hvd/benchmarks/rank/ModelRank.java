package io.hvd.benchmarks.rank;

import io.hvd.benchmarks.Samples;
import io.hvd.config.Setting;
import io.hvd.kernel.Reducer;
import io.hvd.spi.Backend;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * One rank of the measurements for a cost model: MPI's allreduce, hvd's if it uses shared memory or the ring, and a sum
 * on one core. Ranks on other hosts do not see the folder, so rank 0 writes for all ranks. Arguments: folder, sizes in
 * bytes, rounds.
 */
public final class ModelRank {
    /** The number of bytes of a sum: the size of a stage in shared memory. */
    private static final int GAMMA_BYTES = 128 << 10;

    /** The algorithm that is timed even if hvd would choose another one. */
    public static final String RING = "ring";

    private static final int GAMMA_TRIALS = 2000;

    private final PlaceInJob job = PlaceInJob.ofThisProcess();
    private final Samples samples = new Samples();
    private final long[] sizes;
    private final Floats floats;
    private final AlternatingRounds timing;

    private ModelRank(long[] sizes, int rounds) {
        this.sizes = sizes;
        this.floats = Floats.ofSizes(sizes, job);
        this.timing = new AlternatingRounds(floats, samples, job, rounds, AlternatingRounds.WARM_NANOS_BETWEEN_HOSTS);
    }

    public static void main(String[] args) {
        long[] sizes =
                Arrays.stream(args[1].split(",")).mapToLong(Long::parseLong).toArray();
        ModelRank rank = new ModelRank(sizes, Integer.parseInt(args[2]));
        RawJob.run((hvd, mpi) -> rank.measure(hvd, mpi, Path.of(args[0])));
        RawJob.finish();
    }

    private void measure(Backend hvd, MpiCalls mpi, Path folder) {
        samples.about("mpi", mpi.version());
        List<Contender> contenders =
                new ArrayList<>(List.of(Contender.sum("mpi", count -> () -> mpi.sum(floats.direct(), count))));
        boolean ring = RING.equals(System.getenv(Setting.ALLREDUCE_ALGORITHM.variable()));
        if (ring || hvd.description().startsWith("shared memory")) {
            samples.about("raw", RawJob.way(hvd.description()));
            contenders.add(Contender.sum("raw", count -> ours(hvd, floats.directTensor(count))));
        }
        timing.run(contenders, sizes, mpi);
        samples.add("gamma", GAMMA_BYTES, gammaMicros());
        List<byte[]> all = hvd.exchange(samples.toBytes());
        for (int rank = 0; job.rank() == 0 && rank < all.size(); rank++) {
            Samples.write(folder, rank, all.get(rank));
        }
    }

    private static Runnable ours(Backend hvd, Tensor tensor) {
        Reduction sum = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1.0, 1.0);
        List<Tensor> one = List.of(tensor);
        return () -> hvd.collectives().allreduce(one, one, sum);
    }

    /** The shortest time of a sum, because other work on the core only makes a sum longer. */
    private static double gammaMicros() {
        Reducer reducer = new Reducer();
        List<ByteBuffer> sources = List.of(direct(), direct());
        ByteBuffer target = direct();
        long shortest = Long.MAX_VALUE;
        for (int trial = 0; trial < GAMMA_TRIALS; trial++) {
            long begun = System.nanoTime();
            reducer.reduce(ReduceOp.SUM, DType.FLOAT32, sources, 0, GAMMA_BYTES / Float.BYTES, target);
            shortest = Math.min(shortest, System.nanoTime() - begun);
        }
        return shortest / 1e3;
    }

    private static ByteBuffer direct() {
        return ByteBuffer.allocateDirect(GAMMA_BYTES).order(ByteOrder.nativeOrder());
    }
}
