package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.config.HvdConfig;
import io.hvd.error.NotInitialisedException;
import io.hvd.tensor.Tensor;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A call that comes too late names the line that closed the context. */
@Timeout(60)
class ClosedContextTest {
    @Test
    void theErrorNamesTheThreadAndTheLineThatClosedTheContext() throws InterruptedException {
        Assumptions.assumeFalse(HvdConfig.fromEnvironment().started().byLauncher(), "started by mpirun");
        HvdContext hvd = Hvd.init();
        Thread closer = new Thread(() -> leave(hvd), "shutdown of the server");
        closer.start();
        closer.join();

        namesTheEnd("allreduce", () -> hvd.allreduce("late", Tensor.of(1f)));
        namesTheEnd("barrier", hvd::barrier);
        namesTheEnd("Hvd.rank()", Hvd::rank);
    }

    private static void leave(HvdContext hvd) {
        hvd.close();
    }

    private static void namesTheEnd(String call, ThrowingCallable late) {
        assertThatThrownBy(late)
                .isInstanceOf(NotInitialisedException.class)
                .hasMessageContainingAll(
                        "HVD-101",
                        call,
                        "rank 0 of 1",
                        "by thread shutdown of the server",
                        "ClosedContextTest.leave(ClosedContextTest.java:",
                        "Hvd.init()");
    }
}
