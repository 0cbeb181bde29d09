package io.hvd.benchmarks.rank;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.benchmarks.Samples;
import io.hvd.spi.Backend;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * One rank that times allreduces by size, in one or several parts: hvd's collective and its opponents in turn, on one
 * thread; blocking calls through hvd's whole engine, in turn with the collective alone on the same thread, and then
 * with compressed ones; Gloo. Arguments: folder, sizes in bytes, rounds, parts.
 */
public final class AllreduceRank {
    public static final String RAW = "raw";
    public static final String ENGINE = "engine";
    /** The part that times Gloo, without MPI. */
    public static final String GLOO = "gloo";

    private static final int WARM_FLOATS = 1024;
    private static final int WARM_CALLS = 20_000;
    private static final Reduction SUM = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1.0, 1.0);

    private final PlaceInJob job = PlaceInJob.ofThisProcess();
    private final Samples samples = new Samples();
    private final Path folder;
    private final long[] sizes;
    private final Floats floats;
    private final AlternatingRounds timing;

    private AllreduceRank(Path folder, long[] sizes, int rounds) {
        this.folder = folder;
        this.sizes = sizes;
        this.floats = Floats.ofSizes(sizes, job);
        this.timing = new AlternatingRounds(floats, samples, job, rounds, AlternatingRounds.WARM_NANOS);
    }

    public static void main(String[] args) {
        long[] sizes =
                Arrays.stream(args[1].split(",")).mapToLong(Long::parseLong).toArray();
        AllreduceRank rank = new AllreduceRank(Path.of(args[0]), sizes, Integer.parseInt(args[2]));
        List<String> parts = Arrays.asList(args).subList(3, args.length);
        if (parts.contains(RAW)) {
            RawJob.run(rank::raw);
        }
        if (parts.contains(ENGINE)) {
            rank.engine();
        }
        if (parts.contains(GLOO)) {
            rank.gloo();
        } else {
            RawJob.finish();
        }
        rank.samples.write(rank.folder, rank.job.rank());
    }

    private void raw(Backend hvd, MpiCalls mpi) {
        samples.about("raw", "hvd[" + RawJob.way(hvd.description()) + "]");
        samples.about("mpi", mpi.version());
        List<Contender> all = new ArrayList<>(contenders(hvd, mpi));
        all.addAll(RawJob.byForeignFunctions(floats));
        timing.run(all, sizes, mpi);
    }

    private void gloo() {
        try (Gloo gloo = Gloo.onOneHost(folder, job.rank(), job.size())) {
            samples.about("gloo", Gloo.version());
            timing.run(List.of(Contender.sum("gloo", count -> gloo.summing(floats.direct(), count))), sizes);
        }
    }

    private List<Contender> contenders(Backend hvd, MpiCalls mpi) {
        float share = 1f / job.size();
        Reduction average = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1.0, 1.0, job.size());
        return List.of(
                Contender.sum("raw", count -> ours(hvd, floats.directTensor(count), SUM)),
                Contender.sum("mpi", count -> () -> mpi.sum(floats.direct(), count)),
                Contender.heapAverage("heap", count -> ours(hvd, floats.heapTensor(count), average)),
                Contender.heapAverage("mpi-heap", count -> () -> {
                    floats.pack(count);
                    mpi.sum(floats.direct(), count);
                    floats.unpack(count, share);
                }));
    }

    private static Runnable ours(Backend hvd, Tensor tensor, Reduction how) {
        List<Tensor> one = List.of(tensor);
        return () -> hvd.collectives().allreduce(one, one, how);
    }

    private void engine() {
        Optional<Backend> alone = RawJob.besideEngine();
        try (HvdContext hvd = Hvd.init()) {
            AllreduceOptions sum = AllreduceOptions.sum();
            warmUp(hvd, sum);
            List<Contender> pair = new ArrayList<>();
            pair.add(Contender.sum("engine", count -> engineCall(hvd, "bench.", count, sum)));
            alone.ifPresent(backend ->
                    pair.add(Contender.sum("alone", count -> ours(backend, floats.directTensor(count), SUM))));
            timing.run(pair, sizes);
            AllreduceOptions halves = sum.withCompression(Compression.FP16);
            timing.run(
                    List.of(
                            Contender.sum("plain", count -> engineCall(hvd, "bench.", count, sum)),
                            Contender.sum("fp16", count -> engineCall(hvd, "fp16.", count, halves))),
                    sizes);
            Hvd.shutdown();
        }
        alone.ifPresent(RawJob::close);
    }

    /** Without small sizes, the rounds make too few calls for the JIT to compile what the engine does once for each. */
    private void warmUp(HvdContext hvd, AllreduceOptions how) {
        int count = (int) Math.min(WARM_FLOATS, Arrays.stream(sizes).max().orElseThrow() / Float.BYTES);
        Runnable call = engineCall(hvd, "warm.", count, how);
        for (int i = 0; i < WARM_CALLS; i++) {
            call.run();
        }
    }

    private Runnable engineCall(HvdContext hvd, String prefix, int count, AllreduceOptions how) {
        Tensor tensor = floats.directTensor(count);
        String name = prefix + count;
        return () -> hvd.allreduceInPlace(name, tensor, how);
    }
}
