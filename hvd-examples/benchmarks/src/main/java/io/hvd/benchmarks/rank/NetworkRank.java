package io.hvd.benchmarks.rank;

import io.hvd.benchmarks.Collective;
import io.hvd.benchmarks.Samples;
import io.hvd.config.HvdConfig;
import io.hvd.spi.Backend;
import io.hvd.spi.Collectives;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;

/**
 * One rank of the sweep over sizes between hosts: of allreduce hvd in float32 and as fp16, mpi.jar, and plain TCP that
 * moves as many bytes as an allreduce must, in turn; of each other collective hvd and mpi.jar. Rank 0 says what all have
 * timed. Arguments: sizes in bytes, rounds.
 */
public final class NetworkRank {
    private final Job job = Job.ofThisProcess();
    private final Samples samples = new Samples();
    private final long[] sizes;
    private final Floats floats;
    private final Duel duel;

    private NetworkRank(long[] sizes, int rounds) {
        this.sizes = sizes;
        this.floats = Floats.ofSizes(sizes, job);
        this.duel = new Duel(floats, samples, job, rounds);
    }

    public static void main(String[] args) {
        long[] sizes =
                Arrays.stream(args[0].split(",")).mapToLong(Long::parseLong).toArray();
        NetworkRank rank = new NetworkRank(sizes, Integer.parseInt(args[1]));
        RawJob.run(rank::fight);
        RawJob.finish();
    }

    private void fight(Backend hvd, MpiCalls mpi) {
        samples.about("hvd", "hvd[" + RawJob.way(hvd.description()) + "]");
        samples.about("mpi", mpi.version());
        try (TcpCircle tcp = new TcpCircle(hvd, HvdConfig.fromEnvironment())) {
            fight(allreduces(hvd, mpi, tcp), mpi);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        fight(broadcasts(hvd.collectives(), mpi), mpi);
        fight(allgathers(hvd.collectives(), mpi), mpi);
        fight(reduceScatters(hvd.collectives(), mpi), mpi);
        say(hvd);
    }

    private void fight(List<Side> sides, MpiCalls mpi) {
        duel.fight(sides, sizes, 20_000, mpi::barrier);
    }

    private List<Side> allreduces(Backend hvd, MpiCalls mpi, TcpCircle tcp) {
        return List.of(
                Side.sum(Collective.ALLREDUCE.series(), count -> allreduce(hvd.collectives(), count, DType.FLOAT32)),
                Side.sum("fp16", count -> allreduce(hvd.collectives(), count, DType.FLOAT16)),
                Side.sum(Collective.ALLREDUCE.mpiSeries(), count -> () -> mpi.sum(floats.direct(), count)),
                Side.transport("tcp", count -> () -> tcp.pass(leastBytes(count))));
    }

    private Runnable allreduce(Collectives hvd, int count, DType wire) {
        List<Tensor> one = List.of(floats.directTensor(count));
        Reduction sum = sum(wire);
        return () -> hvd.allreduce(one, one, sum);
    }

    private List<Side> broadcasts(Collectives hvd, MpiCalls mpi) {
        return sides(
                Collective.BROADCAST,
                Expected.OF_THE_ROOT,
                count -> {
                    List<Tensor> one = List.of(floats.directTensor(count));
                    return () -> hvd.broadcast(one, one, 0);
                },
                count -> () -> mpi.broadcast(floats.direct(), count));
    }

    private List<Side> allgathers(Collectives hvd, MpiCalls mpi) {
        return sides(
                Collective.ALLGATHER,
                Expected.GATHERED,
                count -> {
                    Tensor piece = floats.sourceTensor(job.piece(count));
                    Tensor all = floats.directTensor(job.whole(count));
                    long[] elements = pieces(count);
                    return () -> hvd.allgather(piece, all, elements);
                },
                count -> () -> mpi.allgather(floats.source(), floats.direct(), job.piece(count)));
    }

    private List<Side> reduceScatters(Collectives hvd, MpiCalls mpi) {
        Reduction sum = sum(DType.FLOAT32);
        return sides(
                Collective.REDUCE_SCATTER,
                Expected.PIECE_OF_SUM,
                count -> {
                    Tensor all = floats.sourceTensor(job.whole(count));
                    Tensor piece = floats.directTensor(job.piece(count));
                    long[] elements = pieces(count);
                    return () -> hvd.reduceScatter(all, piece, elements, sum);
                },
                count -> () -> mpi.reduceScatter(floats.source(), floats.direct(), job.piece(count)));
    }

    private static List<Side> sides(
            Collective collective, Expected expected, IntFunction<Runnable> ours, IntFunction<Runnable> theirs) {
        return List.of(
                Side.direct(collective.series(), expected, ours),
                Side.direct(collective.mpiSeries(), expected, theirs));
    }

    private long[] pieces(int count) {
        long[] pieces = new long[job.size()];
        Arrays.fill(pieces, job.piece(count));
        return pieces;
    }

    private static Reduction sum(DType wire) {
        return new Reduction(ReduceOp.SUM, wire, 1.0, 1.0);
    }

    /** What each rank sends in an allreduce that sends no more than it must. */
    private long leastBytes(int count) {
        return 2L * (job.size() - 1) * count * Float.BYTES / job.size();
    }

    private void say(Backend hvd) {
        List<byte[]> all = hvd.exchange(samples.said(job.rank()).getBytes(StandardCharsets.UTF_8));
        if (job.rank() == 0) {
            all.forEach(said -> System.out.print(new String(said, StandardCharsets.UTF_8)));
        }
    }
}
