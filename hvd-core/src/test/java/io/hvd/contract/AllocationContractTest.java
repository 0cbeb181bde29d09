package io.hvd.contract;

import com.sun.management.ThreadMXBean;
import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.PreparedAllreduce;
import io.hvd.tensor.Tensor;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** The garbage of a step of steady training; the JVM counts it exactly. */
public class AllocationContractTest extends Contract {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    /** The steps after which the last look has been taken at how a step is best cut, and all code is loaded. */
    private static final int SETTLING_STEPS = 700;

    private static final int STEPS = 40;
    /** The least of so many counts, each of that many steps, is taken: a busy machine may have the ranks negotiate again in between. */
    private static final int COUNTS = 16;

    private static final int FEW = 4;
    private static final int MANY = 260;
    /** A step of few tensors makes 730 to 780 bytes for the ranks of a host, whatever their number. */
    private static final int MOST_IN_A_STEP = 1_500;
    /** Over a transport alone such a step makes some thousand bytes, with MPI 3,200 to 6,400, by the number of times that the bindings ask whether it is done. */
    private static final int MOST_IN_A_STEP_OVER_A_TRANSPORT = 40_000;

    /** The smallest object has 16 bytes. The waits of a longer step on a busy machine cost some bytes too. */
    private static final long LESS_THAN_AN_OBJECT = 15;

    @Test
    void aStepOfPreparedTensorsMakesFewBytesAndNoObjectPerTensor() throws Exception {
        onAll(hvd -> {
            double few = bytesPerStep(hvd, FEW);
            double many = bytesPerStep(hvd, MANY);
            double perTensor = (many - few) / (MANY - FEW);
            if (hvd.rank() == 0) {
                System.out.printf(
                        Locale.ROOT,
                        "GARBAGE ranks=%d bytes-per-step=%.0f with %d tensors, %.0f with %d: %.1f per tensor%n",
                        hvd.size(),
                        few,
                        FEW,
                        many,
                        MANY,
                        perTensor);
            }
            if (few > mostInAStep(hvd)) {
                throw new AssertionError("a step of " + FEW + " tensors makes " + few
                        + " bytes of garbage, allowed are " + mostInAStep(hvd));
            }
            if (perTensor > placesInABatch(hvd) + LESS_THAN_AN_OBJECT) {
                throw new AssertionError("a step of " + FEW + " tensors makes " + few + " bytes of garbage, one of "
                        + MANY + " tensors " + many + ": that is " + perTensor + " per tensor");
            }
            return null;
        });
    }

    /** The place at which a tensor begins in its batch is a long, over a transport alone there are two. */
    private static long placesInABatch(HvdContext hvd) {
        return isTransportAlone(hvd) ? 2 * Long.BYTES : Long.BYTES;
    }

    private static int mostInAStep(HvdContext hvd) {
        return isTransportAlone(hvd) ? MOST_IN_A_STEP_OVER_A_TRANSPORT : MOST_IN_A_STEP;
    }

    private static boolean isTransportAlone(HvdContext hvd) {
        return hvd.backend().matches("(mpi|tcp|echo)\\b.*");
    }

    private static double bytesPerStep(HvdContext hvd, int tensorCount) {
        List<String> names = new ArrayList<>();
        List<Tensor> tensors = new ArrayList<>();
        for (int i = 0; i < tensorCount; i++) {
            names.add("garbage." + tensorCount + "." + i);
            tensors.add(Tensor.of(new float[4]));
        }
        try (PreparedAllreduce step = hvd.prepareAllreduce(names, tensors, AllreduceOptions.average())) {
            repeat(step, SETTLING_STEPS);
            long[] threads = {Thread.currentThread().getId(), communicationThread(hvd)};
            long least = Long.MAX_VALUE;
            for (int count = 0; count < COUNTS; count++) {
                long before = allocated(threads);
                repeat(step, STEPS);
                least = Math.min(least, allocated(threads) - before);
            }
            return least / (double) STEPS;
        }
    }

    private static long allocated(long[] threads) {
        return THREADS.getThreadAllocatedBytes(threads[0]) + THREADS.getThreadAllocatedBytes(threads[1]);
    }

    /** The one of this rank: a process may have several ranks, which are threads. */
    private static long communicationThread(HvdContext hvd) {
        List<String> names =
                List.of("hvd-engine-" + hvd.rank(), "hvd-engine-thread-" + hvd.localRank(), "hvd-engine-mpi");
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> names.contains(thread.getName()))
                .findFirst()
                .orElseThrow()
                .getId();
    }

    private static void repeat(PreparedAllreduce step, int times) {
        for (int i = 0; i < times; i++) {
            step.start();
            step.await();
        }
    }
}
