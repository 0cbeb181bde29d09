package io.hvd.benchmarks.rank;

import static org.bytedeco.pytorch.global.torch.zeros;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.PreparedAllreduce;
import io.hvd.benchmarks.Samples;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;

/**
 * One rank that averages a bag of gradients step after step, the last layer's first, as backward finds them. Arguments: folder,
 * name of the bag, rounds, who takes part.
 */
public final class GradientsRank {
    public static final String HVD_AND_MPI = "hvd+mpi";
    public static final String GLOO = "gloo";

    /** After ten identical steps hvd's ranks stop negotiating, and after 32 more they look how a step is best cut. */
    private static final int FEWEST_WARM_STEPS = 60;
    /** A step may take a second. */
    private static final int WARM_STEPS_OF_GLOO = 10;
    /**
     * The JIT's last stage comes after 5,000 calls, also of what is done once a step; but moving gigabytes before each timing
     * would take too long.
     */
    private static final int WARM_OPERATIONS = 2_000_000;

    private static final long MOST_WARM_BYTES = 20L << 30;
    /** In which the JIT ends what it has begun. */
    private static final long PAUSE_MILLIS = 500;
    /** How often a short step is timed per round. When the JIT compiles again, it disturbs tens of steps in a row. */
    private static final int TIMINGS_PER_ROUND = 20;

    /** The bytes of a bag whose step takes about a millisecond. */
    private static final long SHORT_STEP_BYTES = 10 << 20;
    /** After the pause. */
    private static final int SETTLING_STEPS = 5;

    private final Job job = Job.ofThisProcess();
    private final Samples samples = new Samples();
    private final Path folder;
    private final GradientBag bag;
    private final int rounds;

    private GradientsRank(Path folder, GradientBag bag, int rounds) {
        this.folder = folder;
        this.bag = bag;
        this.rounds = rounds;
    }

    public static void main(String[] args) {
        GradientsRank rank = new GradientsRank(Path.of(args[0]), GradientBag.named(args[1]), Integer.parseInt(args[2]));
        if (args[3].equals(GLOO)) {
            rank.gloo();
        } else {
            rank.hvd();
            RawJob.run((hvd, mpi) -> rank.mpi(mpi));
            RawJob.finish();
        }
        rank.samples.write(rank.folder, rank.job.rank());
    }

    private void hvd() {
        try (HvdContext hvd = Hvd.init()) {
            samples.about("hvd", "hvd[" + RawJob.way(hvd.backend()) + "]");
            List<Tensor> heap = bag.elements().stream()
                    .map(count -> Tensor.of(new float[count]))
                    .toList();
            time("hvd-heap", hvd::barrier, () -> step(hvd, "heap", heap));
            TensorVector torch = torchTensors();
            List<Tensor> aliases = new ArrayList<>();
            for (long i = 0; i < torch.size(); i++) {
                aliases.add(TorchTensors.alias("torch." + i, torch.get(i)));
            }
            time("hvd-torch", hvd::barrier, () -> step(hvd, "torch", aliases));
            time("hvd-heap-prepared", hvd::barrier, prepared(hvd, "heap-prepared", heap));
            time("hvd-torch-prepared", hvd::barrier, prepared(hvd, "torch-prepared", aliases));
            Hvd.shutdown();
        }
    }

    /** As {@code DistributedOptimizer} does it. */
    private static Runnable prepared(HvdContext hvd, String prefix, List<Tensor> tensors) {
        List<String> names = IntStream.range(0, tensors.size())
                .mapToObj(i -> prefix + "." + i)
                .toList();
        PreparedAllreduce all = hvd.prepareAllreduce(names, tensors, AllreduceOptions.average());
        return () -> {
            all.start();
            all.await();
        };
    }

    private static void step(HvdContext hvd, String prefix, List<Tensor> tensors) {
        List<Handle> handles = new ArrayList<>(tensors.size());
        for (int i = tensors.size() - 1; i >= 0; i--) {
            handles.add(hvd.allreduceInPlaceAsync(prefix + "." + i, tensors.get(i), AllreduceOptions.average()));
        }
        handles.forEach(Handle::synchronize);
    }

    private void mpi(MpiCalls mpi) {
        samples.about("mpi", mpi.version());
        List<ByteBuffer> direct = bag.elements().stream()
                .map(count -> ByteBuffer.allocateDirect(count * Float.BYTES).order(ByteOrder.nativeOrder()))
                .toList();
        time("mpi-each", FEWEST_WARM_STEPS, mpi::barrier, () -> {
            for (int i = direct.size() - 1; i >= 0; i--) {
                mpi.sum(direct.get(i), bag.elements().get(i));
            }
        });
        Floats all = new Floats(bag.allElements());
        time("mpi-one", FEWEST_WARM_STEPS, mpi::barrier, () -> mpi.sum(all.direct(), bag.allElements()));
        time("mpi-packed", FEWEST_WARM_STEPS, mpi::barrier, () -> {
            all.pack(bag.allElements());
            mpi.sum(all.direct(), bag.allElements());
            all.unpack(bag.allElements(), 1f / job.size());
        });
    }

    private void gloo() {
        try (Gloo gloo = new Gloo(folder, job.rank(), job.size())) {
            samples.about("gloo", Gloo.version());
            TensorVector tensors = torchTensors();
            List<TensorVector> single = new ArrayList<>();
            for (long i = tensors.size() - 1; i >= 0; i--) {
                single.add(new TensorVector(tensors.get(i)));
            }
            Runnable meeting = () -> Gloo.await(gloo.startCoalesced(single.get(0)));
            time("gloo-each", WARM_STEPS_OF_GLOO, meeting, () -> {
                List<Work> works = single.stream().map(gloo::start).toList();
                works.forEach(Gloo::await);
            });
            time("gloo-coalesced", WARM_STEPS_OF_GLOO, meeting, () -> Gloo.await(gloo.startCoalesced(tensors)));
        }
    }

    private TensorVector torchTensors() {
        TensorVector tensors = new TensorVector();
        bag.elements().forEach(count -> tensors.push_back(zeros(count)));
        return tensors;
    }

    /** One meeting of the ranks before all rounds: another collective in between would end hvd's fixed plan. */
    private void time(String series, Runnable meeting, Runnable step) {
        time(series, warmSteps(), meeting, step);
    }

    /** @param warmSteps few where no Java code is to become fast */
    private void time(String series, long warmSteps, Runnable meeting, Runnable step) {
        meeting.run();
        repeat(step, warmSteps);
        Job.pause(PAUSE_MILLIS);
        repeat(step, SETTLING_STEPS);
        boolean isShort = bag.bytes() < SHORT_STEP_BYTES && !series.startsWith("gloo");
        for (int round = 0; round < rounds * (isShort ? TIMINGS_PER_ROUND : 1); round++) {
            long begun = System.nanoTime();
            step.run();
            samples.add(series, bag.bytes(), (System.nanoTime() - begun) / 1e3);
        }
    }

    private static void repeat(Runnable step, long times) {
        for (long i = 0; i < times; i++) {
            step.run();
        }
    }

    private long warmSteps() {
        return Math.max(
                FEWEST_WARM_STEPS, Math.min(WARM_OPERATIONS / bag.elements().size(), MOST_WARM_BYTES / bag.bytes()));
    }
}
