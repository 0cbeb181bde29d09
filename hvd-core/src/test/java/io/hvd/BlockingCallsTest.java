package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.hvd.tensor.Tensor;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a blocking call takes from the memory of the thread that makes it, to the byte, as the virtual machine counts it. */
class BlockingCallsTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    /** Enough that the ranks' steps are settled and the compiler has seen them. */
    private static final int WARM_UP = 3_000;

    private static final int BATCHES = 20;
    private static final int CALLS = 100;

    private interface Call {
        void make(HvdContext hvd, Tensor tensor);
    }

    /** The least of several batches, without what happens only once in a while. */
    private static long bytesPerCall(int planSteps, Call call) {
        Map<String, String> settings = Map.of("HVD_STATIC_PLAN_STEPS", String.valueOf(planSteps));
        return LocalRanks.spawn(2, InitOptions.standard(), settings, hvd -> {
                    Tensor tensor = Tensor.of(1f);
                    repeat(WARM_UP, hvd, tensor, call);
                    long least = Long.MAX_VALUE;
                    for (int batch = 0; batch < BATCHES; batch++) {
                        long before = allocated();
                        repeat(CALLS, hvd, tensor, call);
                        least = Math.min(least, (allocated() - before) / CALLS);
                    }
                    return least;
                })
                .get(1);
    }

    private static void repeat(int times, HvdContext hvd, Tensor tensor, Call call) {
        for (int i = 0; i < times; i++) {
            call.make(hvd, tensor);
        }
    }

    private static long allocated() {
        return THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
    }

    /** Some hundred bytes are the result itself; to find the caller's line and to watch the result took 1,360 more. */
    @ParameterizedTest
    @ValueSource(ints = {0, 10})
    void aResultThatHasBeenWatchedOnceCostsItsOwnMemoryAndLittleMore(int planSteps) {
        long result = bytesPerCall(planSteps, (hvd, tensor) -> hvd.allreduce("loss", tensor));
        long inPlace = bytesPerCall(
                planSteps, (hvd, tensor) -> hvd.allreduceInPlace("loss", tensor, AllreduceOptions.average()));

        System.out.printf(
                Locale.ROOT,
                "plan after %d steps: allreduce takes %d bytes, allreduceInPlace %d%n",
                planSteps,
                result,
                inPlace);
        assertThat(result - inPlace).isBetween(24L, 700L);
    }

    /** It took 3,148 bytes, half of them to find the caller's line once more. */
    @Test
    void aCallThatIsNegotiatedDoesNotLookForItsLineAgain() {
        assertThat(bytesPerCall(0, (hvd, tensor) -> hvd.allreduceInPlace("loss", tensor, AllreduceOptions.average())))
                .isLessThan(2_000);
    }
}
