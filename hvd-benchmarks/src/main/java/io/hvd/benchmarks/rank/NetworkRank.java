package io.hvd.benchmarks.rank;

import io.hvd.benchmarks.Samples;
import io.hvd.config.HvdConfig;
import io.hvd.spi.Backend;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * One rank of the sweep over sizes between hosts: hvd in float32 and as fp16, mpi.jar, and plain TCP that moves as many
 * bytes as an allreduce must, in turn. Rank 0 says what all have timed. Arguments: sizes in bytes, rounds.
 */
public final class NetworkRank {
    private final Job job = Job.ofThisProcess();
    private final Samples samples = new Samples();
    private final long[] sizes;
    private final Floats floats;
    private final Duel duel;

    private NetworkRank(long[] sizes, int rounds) {
        this.sizes = sizes;
        this.floats = new Floats(Math.toIntExact(Arrays.stream(sizes).max().orElseThrow() / Float.BYTES));
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
            duel.fight(sides(hvd, mpi, tcp), sizes, 20_000, mpi::barrier);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        say(hvd);
    }

    private List<Side> sides(Backend hvd, MpiCalls mpi, TcpCircle tcp) {
        return List.of(
                Side.sum("float32", count -> ours(hvd, count, DType.FLOAT32)),
                Side.sum("fp16", count -> ours(hvd, count, DType.FLOAT16)),
                Side.sum("mpi", count -> () -> mpi.sum(floats.direct(), count)),
                Side.transport("tcp", count -> () -> tcp.pass(leastBytes(count))));
    }

    private Runnable ours(Backend hvd, int count, DType wire) {
        List<Tensor> one = List.of(floats.directTensor(count));
        Reduction sum = new Reduction(ReduceOp.SUM, wire, 1.0, 1.0);
        return () -> hvd.collectives().allreduce(one, one, sum);
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
