package io.hvd.transport.mpi.openmpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The end of MPI: once, and with a limit as soon as all ranks have come to it. */
@Timeout(60)
class MpiFinalizationTest {
    private static final long NEVER = 1_000_000;

    private final List<String> calls = Collections.synchronizedList(new ArrayList<>());
    private final List<Long> heldUp = new ArrayList<>();
    private final CountDownLatch returns = new CountDownLatch(1);
    private final ExecutorService thread = Executors.newSingleThreadExecutor();

    @AfterEach
    void end() {
        returns.countDown();
        thread.shutdown();
    }

    /** Whose end of MPI waits for {@link #returns}. */
    private final class Ending implements MpiFinalization.Mpi {
        private final boolean all;

        /** @param all whether all ranks come to the end of MPI */
        Ending(boolean all) {
            this.all = all;
        }

        @Override
        public Executor thread() {
            return thread;
        }

        @Override
        public boolean meet() {
            calls.add("meet");
            return all;
        }

        @Override
        public void finish() {
            calls.add("finish");
            try {
                returns.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        @Override
        public boolean leave(boolean well, boolean waits, Duration limit) {
            calls.add("leave " + (well ? "well" : "badly") + (waits ? " and waiting" : "") + " within " + limit);
            return waits;
        }
    }

    @Test
    void mpiEndsOnceHoweverOftenItIsAskedTo() {
        MpiFinalization finalization = new MpiFinalization(new Ending(true), NEVER);
        returns.countDown();
        finalization.run(heldUp::add);
        finalization.run(heldUp::add);

        assertThat(calls).containsExactly("meet", "finish");
        assertThat(finalization.hasMet()).isTrue();
        assertThat(heldUp).isEmpty();
    }

    @Test
    void anEndThatDoesNotReturnIsGivenUpAtItsLimitAndTheProviderHearsOfIt() {
        MpiFinalization finalization = new MpiFinalization(new Ending(true), 50);
        finalization.run(heldUp::add);

        assertThat(heldUp).containsExactly(50L);
        assertThat(finalization.leave(true)).isTrue();
        assertThat(calls).endsWith("leave well and waiting within PT0.1S");
    }

    @Test
    void aRankWhoseOthersHaveNotComeWaitsWithoutALimit() throws Exception {
        MpiFinalization finalization = new MpiFinalization(new Ending(false), 1);
        Thread ending = new Thread(() -> finalization.run(heldUp::add));
        ending.start();
        ending.join(100);
        assertThat(ending.isAlive()).isTrue();
        returns.countDown();
        ending.join();

        assertThat(heldUp).isEmpty();
        assertThat(finalization.hasMet()).isFalse();
        assertThat(finalization.leave(false)).isFalse();
        assertThat(calls).endsWith("leave badly within PT0.002S");
    }

    @Test
    void anInterruptDoesNotEndMpiHalfWayAndIsKeptForTheProgram() throws Exception {
        MpiFinalization finalization = new MpiFinalization(new Ending(true), NEVER);
        List<Boolean> interrupted = new ArrayList<>();
        Thread ending = new Thread(() -> {
            Thread.currentThread().interrupt();
            finalization.run(heldUp::add);
            interrupted.add(Thread.currentThread().isInterrupted());
        });
        ending.start();
        returns.countDown();
        ending.join();

        assertThat(interrupted).containsExactly(true);
        assertThat(heldUp).isEmpty();
        assertThat(calls).containsExactly("meet", "finish");
    }
}
