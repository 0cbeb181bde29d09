package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.RankBody;
import io.hvd.error.RankMismatchException;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.Locale;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The contract of every back end, with any number of ranks. Each test is run by all ranks at the same
 * time; its inputs depend on the rank. The same classes run with threads in the everyday tests and,
 * started by {@code MpiContractIT}, inside every process of a job.
 */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
@ParameterizedClass(name = "{0}")
@MethodSource("io.hvd.contract.Ranks#here")
@ExtendWith(CountedTests.class)
public abstract class Contract {
    /** An average of floats is their sum multiplied with a rounded 1/n, so that with 7 ranks it is off by a bit. */
    static final Offset<Float> ROUNDED = Offset.offset(1e-5f);

    @Parameter
    Ranks ranks;

    @AfterParameterizedClassInvocation
    static void report(Ranks ranks) {
        TestCounts counts = TestCounts.take();
        if (ranks instanceof Ranks.Threads) {
            System.out.printf(Locale.ROOT, "TESTS backend=local ranks=%d %s%n", ranks.size(), counts);
        }
    }

    /** Runs the same body on every rank. */
    final void onAll(RankBody<?> body) throws Exception {
        ranks.run(body);
    }

    /** Runs a body with so many ranks or more; with fewer the test has nothing to say, and counts as skipped. */
    final void onAllOf(int atLeast, RankBody<?> body) throws Exception {
        assumeTrue(ranks.size() >= atLeast, () -> "needs " + atLeast + " ranks or more, and runs with them too");
        ranks.run(body);
    }

    /** The last rank asks for something else: all fail with the facts, and go on afterwards. */
    final void mismatch(String name, Call call, String... facts) throws Exception {
        onAllOf(2, hvd -> {
            boolean odd = hvd.rank() == hvd.size() - 1;
            RankMismatchException error = assertThrows(RankMismatchException.class, () -> call.on(hvd, odd), name);
            assertThat(error)
                    .hasMessageContaining("\"" + name + "\"")
                    .hasMessageContainingAll(facts)
                    .hasMessageContaining("{" + (hvd.size() - 1) + "}");
            requireUsable(hvd, name);
            return null;
        });
    }

    static void requireUsable(ProcessSet set, String after) {
        assertThat(sum(set, "after." + after, 1f)).as("after " + after).isEqualTo(set.size());
    }

    static float sum(ProcessSet set, String name, float mine) {
        return set.allreduce(name, Tensor.of(mine), AllreduceOptions.sum()).item();
    }

    static Tensor reduce(ProcessSet set, String name, Tensor tensor, ReduceOp op) {
        return set.allreduce(name, tensor, AllreduceOptions.of(op));
    }

    /** A call of a rank; {@code odd} is true on the one that is to differ. */
    interface Call {
        Object on(HvdContext hvd, boolean odd);
    }
}
