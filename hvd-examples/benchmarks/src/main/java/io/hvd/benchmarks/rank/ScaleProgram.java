package io.hvd.benchmarks.rank;

import com.sun.management.OperatingSystemMXBean;
import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.benchmarks.Samples;
import io.hvd.tensor.Tensor;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/**
 * Many ranks as threads of this JVM, which average some tiny tensors step after step, so that the engine is timed and
 * not the data. Arguments: folder, ranks, tensors, steps.
 */
public final class ScaleProgram {
    private static final int ELEMENTS = 64;
    /** More steps than the ten identical ones after which the ranks stop negotiating, if the settings allow it. */
    private static final int FEWEST_WARM_STEPS = 30;

    private static final int MOST_WARM_STEPS = 2000;
    /** The number of operations after which the JIT has compiled the code. */
    private static final int WARM_OPERATIONS = 20_000;

    private final OperatingSystemMXBean machine = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private final Samples samples = new Samples();
    private final int tensors;
    private final int steps;
    private final CyclicBarrier together;
    private long cpuNanos;

    private ScaleProgram(int ranks, int tensors, int steps) {
        this.tensors = tensors;
        this.steps = steps;
        this.together = new CyclicBarrier(ranks);
    }

    public static void main(String[] args) {
        int ranks = Integer.parseInt(args[1]);
        ScaleProgram program = new ScaleProgram(ranks, Integer.parseInt(args[2]), Integer.parseInt(args[3]));
        Hvd.spawn(ranks, hvd -> {
            program.run(hvd);
            return null;
        });
        program.samples.write(Path.of(args[0]), 0);
    }

    private void run(HvdContext hvd) throws InterruptedException, BrokenBarrierException {
        List<Tensor> mine = new ArrayList<>();
        for (int i = 0; i < tensors; i++) {
            mine.add(Tensor.of(new float[ELEMENTS]));
        }
        for (int i = 0; i < warmSteps(hvd.size()); i++) {
            step(hvd, mine);
        }
        together.await();
        boolean first = hvd.rank() == 0;
        cpuNanos = first ? machine.getProcessCpuTime() : cpuNanos;
        for (int i = 0; i < steps; i++) {
            long begun = System.nanoTime();
            step(hvd, mine);
            if (first) {
                samples.add("step", bytes(), (System.nanoTime() - begun) / 1e3);
            }
        }
        together.await();
        if (first) {
            samples.add("cpu", bytes(), (machine.getProcessCpuTime() - cpuNanos) / 1e3 / steps);
        }
    }

    private int warmSteps(int ranks) {
        return Math.max(FEWEST_WARM_STEPS, Math.min(MOST_WARM_STEPS, WARM_OPERATIONS / (ranks * tensors)));
    }

    private long bytes() {
        return (long) tensors * ELEMENTS * Float.BYTES;
    }

    private static void step(HvdContext hvd, List<Tensor> tensors) {
        List<Handle> handles = new ArrayList<>(tensors.size());
        for (int i = 0; i < tensors.size(); i++) {
            handles.add(hvd.allreduceInPlaceAsync("t" + i, tensors.get(i), AllreduceOptions.average()));
        }
        handles.forEach(Handle::synchronize);
    }
}
