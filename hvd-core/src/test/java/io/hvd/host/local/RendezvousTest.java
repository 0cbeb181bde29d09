package io.hvd.host.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ShutdownException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class RendezvousTest {
    private static CompletableFuture<Void> onItsOwnThread(Runnable body) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                body.run();
                done.complete(null);
            } catch (Throwable e) {
                done.completeExceptionally(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return done;
    }

    @Test
    void oneAloneNeverWaits() {
        Rendezvous alone = new Rendezvous(1);
        alone.meet();
        alone.meet();
    }

    @Test
    void nobodyLeavesBeforeTheLastHasCome() throws Exception {
        int parties = 4;
        int rounds = 500;
        Rendezvous rendezvous = new Rendezvous(parties);
        AtomicInteger arrivals = new AtomicInteger();
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int p = 0; p < parties; p++) {
            all.add(onItsOwnThread(() -> {
                for (int round = 1; round <= rounds; round++) {
                    arrivals.incrementAndGet();
                    rendezvous.meet();
                    assertThat(arrivals.get()).isGreaterThanOrEqualTo(round * parties);
                }
            }));
        }
        for (CompletableFuture<Void> one : all) {
            one.get(20, TimeUnit.SECONDS);
        }
        assertThat(arrivals).hasValue(parties * rounds);
    }

    @Test
    void breakingUpFreesAllWhoWaitAndTellsThemTheCause() {
        Rendezvous rendezvous = new Rendezvous(3);
        List<CompletableFuture<Void>> waiting =
                List.of(onItsOwnThread(rendezvous::meet), onItsOwnThread(rendezvous::meet));
        rendezvous.breakUp("rank 2 is gone: out of memory");
        for (CompletableFuture<Void> one : waiting) {
            assertThatThrownBy(() -> one.get(20, TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .cause()
                    .isInstanceOf(ShutdownException.class)
                    .hasMessageContaining("rank 2 is gone: out of memory");
        }
    }

    @Test
    void whoComesAfterwardsIsToldTheFirstCause() {
        Rendezvous rendezvous = new Rendezvous(1);
        rendezvous.breakUp("first");
        rendezvous.breakUp("second");
        assertThatThrownBy(rendezvous::meet)
                .isInstanceOf(ShutdownException.class)
                .hasMessageContaining("first")
                .hasMessageNotContaining("second");
    }

    /** It may be a thread of the program's, and the other ranks are in the same collective. */
    @Test
    void anInterruptedThreadWaitsOnAndKeepsItsMark() throws Exception {
        Rendezvous rendezvous = new Rendezvous(2);
        CompletableFuture<Boolean> stillInterrupted = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            Thread.currentThread().interrupt();
            rendezvous.meet();
            stillInterrupted.complete(Thread.currentThread().isInterrupted());
        });
        thread.setDaemon(true);
        thread.start();
        while (thread.isAlive() && thread.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        assertThat(stillInterrupted).isNotDone();
        rendezvous.meet();
        assertThat(stillInterrupted.get(20, TimeUnit.SECONDS)).isTrue();
    }
}
