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
 * One rank that averages a set of gradients step after step, from the last layer on, in the order in which backward
 * computes them. Arguments: folder, name of the set, rounds, opponents.
 */
public final class GradientsRank {
    public static final String HVD_AND_MPI = "hvd+mpi";
    public static final String GLOO = "gloo";

    /**
     * More than the 42 identical steps after which hvd's ranks have stopped negotiating and rank 0 may change the
     * batches.
     */
    private static final int FEWEST_WARM_STEPS = 60;
    /** Few steps, because a step of Gloo may take a second. */
    private static final int WARM_STEPS_OF_GLOO = 10;
    /**
     * The number of operations after which the JIT has compiled even the code that runs once per step, which takes
     * 5,000 steps with 400 tensors. Large gradients get fewer, because moving gigabytes before each timing would take
     * too long.
     */
    private static final int WARM_OPERATIONS = 2_000_000;

    private static final long MOST_WARM_BYTES = 20L << 30;
    /** The length of a pause in which the JIT finishes its compilations. */
    private static final long PAUSE_MILLIS = 500;
    /**
     * The number of timings of a short step in each round. If the JIT compiles again, it disturbs tens of steps in a
     * row.
     */
    private static final int TIMINGS_PER_ROUND = 20;

    /** The bytes of a gradients whose step takes about a millisecond. */
    private static final long SHORT_STEP_BYTES = 10 << 20;
    /** The number of steps between the pause and the first timing. */
    private static final int SETTLING_STEPS = 5;

    private final PlaceInJob job = PlaceInJob.ofThisProcess();
    private final Samples samples = new Samples();
    private final Path folder;
    private final GradientSet gradients;
    private final int rounds;

    private GradientsRank(Path folder, GradientSet gradients, int rounds) {
        this.folder = folder;
        this.gradients = gradients;
        this.rounds = rounds;
    }

    public static void main(String[] args) {
        GradientsRank rank = new GradientsRank(Path.of(args[0]), GradientSet.named(args[1]), Integer.parseInt(args[2]));
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
            List<Tensor> heap = gradients.elements().stream()
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
            samples.add("hvd-memory", gradients.bytes(), hvd.memory().bytes());
            Hvd.shutdown();
        }
    }

    /** A step with a prepared allreduce, as {@code DistributedOptimizer} does it. */
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
        List<ByteBuffer> direct = gradients.elements().stream()
                .map(count -> ByteBuffer.allocateDirect(count * Float.BYTES).order(ByteOrder.nativeOrder()))
                .toList();
        time("mpi-each", FEWEST_WARM_STEPS, mpi::barrier, () -> {
            for (int i = direct.size() - 1; i >= 0; i--) {
                mpi.sum(direct.get(i), gradients.elements().get(i));
            }
        });
        Floats all = new Floats(gradients.allElements());
        time("mpi-one", FEWEST_WARM_STEPS, mpi::barrier, () -> mpi.sum(all.direct(), gradients.allElements()));
        time("mpi-packed", FEWEST_WARM_STEPS, mpi::barrier, () -> {
            all.pack(gradients.allElements());
            mpi.sum(all.direct(), gradients.allElements());
            all.unpack(gradients.allElements(), 1f / job.size());
        });
    }

    private void gloo() {
        try (Gloo gloo = Gloo.onOneHost(folder, job.rank(), job.size())) {
            samples.about("gloo", Gloo.version());
            TensorVector tensors = torchTensors();
            List<TensorVector> single = new ArrayList<>();
            for (long i = tensors.size() - 1; i >= 0; i--) {
                single.add(new TensorVector(tensors.get(i)));
            }
            Runnable barrier = () -> Gloo.await(gloo.startCoalesced(single.get(0)));
            time("gloo-each", WARM_STEPS_OF_GLOO, barrier, () -> {
                List<Work> works = single.stream().map(gloo::start).toList();
                works.forEach(Gloo::await);
            });
            time("gloo-coalesced", WARM_STEPS_OF_GLOO, barrier, () -> Gloo.await(gloo.startCoalesced(tensors)));
        }
    }

    private TensorVector torchTensors() {
        TensorVector tensors = new TensorVector();
        gradients.elements().forEach(count -> tensors.push_back(zeros(count)));
        return tensors;
    }

    /** Times a step, with one barrier before all rounds: another collective in between would end hvd's static plan. */
    private void time(String series, Runnable barrier, Runnable step) {
        time(series, warmSteps(), barrier, step);
    }

    /** @param warmSteps number of steps before the first timing; few are enough if hardly any Java code runs */
    private void time(String series, long warmSteps, Runnable barrier, Runnable step) {
        barrier.run();
        repeat(step, warmSteps);
        PlaceInJob.pause(PAUSE_MILLIS);
        repeat(step, SETTLING_STEPS);
        boolean isShort = gradients.bytes() < SHORT_STEP_BYTES && !series.startsWith("gloo");
        for (int round = 0; round < rounds * (isShort ? TIMINGS_PER_ROUND : 1); round++) {
            long begun = System.nanoTime();
            step.run();
            samples.add(series, gradients.bytes(), (System.nanoTime() - begun) / 1e3);
        }
    }

    private static void repeat(Runnable step, long times) {
        for (long i = 0; i < times; i++) {
            step.run();
        }
    }

    private long warmSteps() {
        return Math.max(
                FEWEST_WARM_STEPS,
                Math.min(WARM_OPERATIONS / gradients.elements().size(), MOST_WARM_BYTES / gradients.bytes()));
    }
}
