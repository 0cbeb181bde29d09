package io.hvd.benchmarks.rank;

import io.hvd.benchmarks.Collective;
import io.hvd.benchmarks.Samples;
import io.hvd.optimizer.torch.natives.BlasKernel;
import io.hvd.spi.Backend;
import io.hvd.spi.Collectives;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;

/**
 * One rank that times collectives by size between hosts. Allreduce is timed with hvd over MPI in float32 and as fp16,
 * hvd over TCP, and mpi.jar in turn, each other collective with hvd over MPI and mpi.jar, alltoall also over TCP. Then
 * hvd's allreduces take turns with Gloo, and with plain TCP that moves as many bytes as an allreduce must.
 * Rank 0 prints the timings of all ranks. Arguments: sizes in bytes, rounds, what adds.
 */
public final class NetworkRank {
    /** The series of hvd without MPI. */
    public static final String OVER_TCP = "over-tcp";
    /** Stands behind the names of hvd's series that were timed together with Gloo and plain TCP. */
    public static final String BESIDE_THREADS = "-beside-threads";

    private final PlaceInJob job = PlaceInJob.ofThisProcess();
    private final Samples samples = new Samples();
    private final long[] sizes;
    private final Floats floats;
    private final AlternatingRounds timing;

    private NetworkRank(long[] sizes, int rounds) {
        this.sizes = sizes;
        this.floats = Floats.ofSizes(sizes, job);
        this.timing = new AlternatingRounds(floats, samples, job, rounds, AlternatingRounds.WARM_NANOS_BETWEEN_HOSTS);
    }

    public static void main(String[] args) {
        switch (args[2]) {
            case "java" -> {}
            case "openblas" -> BlasKernel.install();
            default -> throw new IllegalArgumentException("--adder is " + args[2] + ", expected java or openblas");
        }
        long[] sizes =
                Arrays.stream(args[0].split(",")).mapToLong(Long::parseLong).toArray();
        NetworkRank rank = new NetworkRank(sizes, Integer.parseInt(args[1]));
        RawJob.run(rank::time);
        RawJob.finish();
    }

    private void time(Backend hvd, MpiCalls mpi) {
        samples.about("hvd", "hvd[" + RawJob.way(hvd.description()) + "]");
        samples.about("mpi", mpi.version());
        try (Backend overTcp = RawJob.overTcp(hvd)) {
            samples.about(OVER_TCP, "hvd[" + RawJob.way(overTcp.description()) + "]");
            List<Contender> allreduces = new ArrayList<>(hvdsAllreduces(hvd, overTcp, ""));
            allreduces.add(Contender.sum("fp16", count -> allreduce(hvd.collectives(), count, DType.FLOAT16)));
            allreduces.add(
                    Contender.sum(Collective.ALLREDUCE.mpiSeries(), count -> () -> mpi.sum(floats.direct(), count)));
            allreduces.addAll(RawJob.byForeignFunctions(floats));
            time(allreduces, mpi);
            time(broadcasts(hvd.collectives(), mpi), mpi);
            time(allgathers(hvd.collectives(), mpi), mpi);
            time(reduceScatters(hvd.collectives(), mpi), mpi);
            time(alltoalls(hvd, overTcp, mpi), mpi);
            timeBesideThreads(hvd, overTcp, mpi);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        say(hvd);
    }

    /** Gloo and plain TCP have threads in every process, for which the others would pay where ranks share cores. */
    private void timeBesideThreads(Backend hvd, Backend overTcp, MpiCalls mpi) throws IOException {
        samples.about("gloo", Gloo.version());
        InetAddress here = RawJob.address(hvd);
        try (TcpRing tcp = new TcpRing(hvd, here);
                Gloo gloo = Gloo.between(RawJob.meeting(hvd, here), here, job.rank(), job.size())) {
            List<Contender> allreduces = new ArrayList<>(hvdsAllreduces(hvd, overTcp, BESIDE_THREADS));
            allreduces.add(Contender.sum("gloo", count -> gloo.summing(floats.direct(), count)));
            allreduces.add(Contender.transport("tcp", count -> () -> tcp.pass(leastBytes(count))));
            time(allreduces, mpi);
        }
    }

    private void time(List<Contender> contenders, MpiCalls mpi) {
        timing.run(contenders, sizes, mpi);
    }

    /** @param when is added to the names of the series */
    private List<Contender> hvdsAllreduces(Backend hvd, Backend overTcp, String when) {
        return List.of(
                Contender.sum(
                        Collective.ALLREDUCE.series() + when,
                        count -> allreduce(hvd.collectives(), count, DType.FLOAT32)),
                Contender.sum(OVER_TCP + when, count -> allreduce(overTcp.collectives(), count, DType.FLOAT32)));
    }

    private Runnable allreduce(Collectives hvd, int count, DType wire) {
        List<Tensor> one = List.of(floats.directTensor(count));
        Reduction sum = sum(wire);
        return () -> hvd.allreduce(one, one, sum);
    }

    private List<Contender> broadcasts(Collectives hvd, MpiCalls mpi) {
        return contenders(
                Collective.BROADCAST,
                Expected.OF_THE_ROOT,
                count -> {
                    List<Tensor> one = List.of(floats.directTensor(count));
                    return () -> hvd.broadcast(one, one, 0);
                },
                count -> () -> mpi.broadcast(floats.direct(), count));
    }

    private List<Contender> allgathers(Collectives hvd, MpiCalls mpi) {
        return contenders(
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

    private List<Contender> reduceScatters(Collectives hvd, MpiCalls mpi) {
        Reduction sum = sum(DType.FLOAT32);
        return contenders(
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

    private List<Contender> alltoalls(Backend hvd, Backend overTcp, MpiCalls mpi) {
        String series = Collective.ALLTOALL.series();
        return List.of(
                alltoall(series, hvd.collectives()),
                alltoall(OVER_TCP + "-" + series, overTcp.collectives()),
                Contender.direct(
                        Collective.ALLTOALL.mpiSeries(),
                        Expected.EXCHANGED,
                        count -> () -> mpi.alltoall(floats.source(), floats.direct(), job.piece(count))));
    }

    private Contender alltoall(String series, Collectives hvd) {
        return Contender.direct(series, Expected.EXCHANGED, count -> {
            Tensor mine = floats.sourceTensor(job.whole(count));
            Tensor theirs = floats.directTensor(job.whole(count));
            long[] elements = pieces(count);
            return () -> hvd.alltoall(mine, theirs, elements, elements, job.piece(count));
        });
    }

    private static List<Contender> contenders(
            Collective collective, Expected expected, IntFunction<Runnable> ours, IntFunction<Runnable> theirs) {
        return List.of(
                Contender.direct(collective.series(), expected, ours),
                Contender.direct(collective.mpiSeries(), expected, theirs));
    }

    private long[] pieces(int count) {
        long[] pieces = new long[job.size()];
        Arrays.fill(pieces, job.piece(count));
        return pieces;
    }

    private static Reduction sum(DType wire) {
        return new Reduction(ReduceOp.SUM, wire, 1.0, 1.0);
    }

    /** The least number of bytes that each rank must send in an allreduce. */
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
