package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Interrupts of the thread that has called spawn, which cancel the job, and of a rank's own thread, which do not. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class InterruptedRanksTest {
    private static final AllreduceOptions SUM = AllreduceOptions.sum();
    private static final InitOptions OPTIONS = InitOptions.standard().withDynamicProcessSets();

    /** What the thread that called spawn has got, and whether it is still interrupted. */
    private record End(Throwable thrown, boolean interrupted) {}

    /** A spawn on a thread of its own. */
    private static final class Caller {
        private final FutureTask<End> end;
        private final Thread thread;

        Caller(int size, RankBody<?> body) {
            end = new FutureTask<>(() -> {
                try {
                    LocalRanks.spawn(size, OPTIONS, Map.of(), body);
                    return new End(null, Thread.currentThread().isInterrupted());
                } catch (RuntimeException e) {
                    return new End(e, Thread.currentThread().isInterrupted());
                }
            });
            thread = new Thread(end, "service");
            thread.start();
        }

        End cancel() throws InterruptedException, ExecutionException {
            thread.interrupt();
            return end.get();
        }
    }

    private static void requireCancelled(End end) {
        assertThat(end.thrown())
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-303", "cancelled", "thread service", "Hvd.spawn", "interrupted")
                .hasCauseInstanceOf(InterruptedException.class);
        assertThat(end.interrupted()).as("the caller stays interrupted").isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "allreduce",
                "prepared",
                "barrier",
                "monitoredBarrier",
                "join",
                "receive",
                "broadcastObject",
                "addProcessSet",
                "close"
            })
    void everyCallThatWaitsForAnotherRankSaysThatTheJobWasCancelled(String call) throws Exception {
        var waits = new CountDownLatch(1);
        Collection<Throwable> errors = new ConcurrentLinkedQueue<>();
        var caller = new Caller(2, hvd -> {
            hvd.barrier();
            if (hvd.rank() == 1) {
                waits.countDown();
                new CountDownLatch(1).await(); // it comes to no call any more, and an interrupt ends it
            }
            try {
                make(call, hvd);
            } catch (RuntimeException e) {
                errors.add(e);
            }
            return null;
        });
        waits.await();

        requireCancelled(caller.cancel());
        if (call.equals("close")) {
            assertThat(errors).as("a rank that leaves need not be told").isEmpty();
        } else {
            assertThat(errors)
                    .singleElement()
                    .satisfies(error -> assertThat(error)
                            .isInstanceOf(ShutdownException.class)
                            .hasMessageContainingAll("the job was cancelled", "thread service"));
        }
    }

    private static void make(String call, HvdContext hvd) {
        switch (call) {
            case "allreduce" -> hvd.allreduceAsync("a", Tensor.of(1f), SUM).synchronize();
            case "prepared" -> {
                try (var prepared = hvd.prepareAllreduce(List.of("p"), List.of(Tensor.of(1f)), SUM)) {
                    prepared.start();
                    prepared.await();
                }
            }
            case "barrier" -> hvd.barrier();
            case "monitoredBarrier" -> hvd.monitoredBarrier(Duration.ofHours(1));
            case "join" -> hvd.join();
            case "receive" -> hvd.receive(Tensor.of(0f), 1, 3);
            case "broadcastObject" -> hvd.broadcastObject("object", "text", ObjectCodec.utf8(), 1);
            case "addProcessSet" -> hvd.addProcessSet(List.of(1));
            case "close" -> hvd.close();
            default -> throw new IllegalArgumentException(call);
        }
    }

    /** The ranks no longer negotiate, and rank 0's own thread waits inside the data plane. */
    @Test
    void aRankThatComputesWithoutLookingAtTheInterruptIsNamedWithItsLineAndHoldsNobodyUp() throws Exception {
        var computes = new CountDownLatch(1);
        var enough = new AtomicBoolean();
        Collection<Throwable> errors = new ConcurrentLinkedQueue<>();
        var caller = new Caller(2, hvd -> {
            Tensor tensor = Tensor.of(1f);
            for (int step = 0; step < 40; step++) {
                hvd.allreduceInPlace("step", tensor, SUM);
            }
            if (hvd.rank() == 1) {
                computes.countDown();
                while (!enough.get()) {
                    Thread.onSpinWait();
                }
            }
            try {
                hvd.allreduceInPlace("step", tensor, SUM);
            } catch (RuntimeException e) {
                errors.add(e);
            }
            return null;
        });
        computes.await();

        End end = caller.cancel();
        requireCancelled(end);
        assertThat(end.thrown())
                .hasMessageContainingAll("thread hvd-rank-1", "has not ended within", "InterruptedRanksTest.java:")
                .hasMessageNotContaining("hvd-rank-0");
        assertThat(errors).singleElement().satisfies(error -> assertThat(error).hasMessageContaining("cancelled"));
        enough.set(true);
        awaitNoThread("hvd-rank-1");
        assertThat(errors).hasSize(2).allSatisfy(error -> assertThat(error).hasMessageContaining("cancelled"));
    }

    /** Wherever the interrupt finds the job: while the ranks join, negotiate, follow a plan, or leave. */
    @Test
    void manyCancelledJobsLeaveNoThreadAndTheNextJobWorksAtOnce() throws Exception {
        for (int round = 0; round < 60; round++) {
            var caller = new Caller(3, hvd -> {
                for (int step = 0; step < 1_000_000; step++) {
                    hvd.allreduceInPlace("step", Tensor.of(1f), SUM);
                }
                return null;
            });
            LockSupport.parkNanos(round * 1_000_000L);
            End end = caller.cancel();
            requireCancelled(end);
            assertThat(end.thrown()).hasMessageNotContaining("has not ended");
            assertThat(LocalRanks.spawn(
                            2,
                            OPTIONS,
                            Map.of(),
                            hvd -> hvd.allreduce("sum", Tensor.of(1f), SUM).item()))
                    .containsExactly(2f, 2f);
        }
        awaitNoThread("hvd-rank-", "hvd-engine-", "hvd-monitor-", "hvd-plan-exit-");
    }

    @Test
    void aThreadThatIsInterruptedAlreadyStartsNoRank() {
        var started = new AtomicBoolean();
        Thread.currentThread().interrupt();
        Throwable thrown = catchThrowable(() -> Hvd.spawn(2, hvd -> {
            started.set(true);
            return null;
        }));
        assertThat(Thread.interrupted()).isTrue();
        assertThat(thrown).isInstanceOf(HvdException.class).hasMessageContainingAll("cancelled", "before any rank");
        assertThat(started).isFalse();
    }

    /** What a rank has submitted cannot be taken back: the call goes on, and the program sees the interrupt afterwards. */
    @Test
    void anInterruptOfOneRanksThreadEndsNoCallAndIsKept() {
        List<List<String>> lost = LocalRanks.spawn(2, OPTIONS, Map.of(), hvd -> {
            List<String> swallowed = new ArrayList<>();
            Map<String, RankBody<Object>> calls = new TreeMap<>(Map.of(
                    "allreduce",
                            any -> hvd.allreduceAsync("a", Tensor.of(1f), SUM).synchronize(),
                    "barrier",
                            any -> {
                                hvd.barrier();
                                return null;
                            },
                    "join", any -> hvd.join(),
                    "monitoredBarrier",
                            any -> {
                                hvd.monitoredBarrier(Duration.ofMinutes(1));
                                return null;
                            },
                    "object", any -> hvd.broadcastObject("o", "text", ObjectCodec.utf8(), 0),
                    "prepared",
                            any -> {
                                try (var prepared = hvd.prepareAllreduce(List.of("p"), List.of(Tensor.of(1f)), SUM)) {
                                    prepared.start();
                                    prepared.await();
                                    return null;
                                }
                            },
                    "set", any -> hvd.addProcessSet(List.of(0)),
                    "transfer",
                            any -> {
                                if (hvd.rank() == 0) {
                                    hvd.send(Tensor.of(1f), 1, 1);
                                } else {
                                    hvd.receive(Tensor.of(0f), 0, 1);
                                }
                                return null;
                            }));
            for (Map.Entry<String, RankBody<Object>> call : calls.entrySet()) {
                if (hvd.rank() == 1) {
                    Thread.currentThread().interrupt();
                }
                call.getValue().run(hvd);
                if (Thread.interrupted() != (hvd.rank() == 1)) {
                    swallowed.add(call.getKey());
                }
            }
            if (hvd.rank() == 1) {
                Thread.currentThread().interrupt();
            }
            hvd.close();
            if (Thread.interrupted() != (hvd.rank() == 1)) {
                swallowed.add("close");
            }
            return swallowed;
        });
        assertThat(lost).containsOnly(List.of());
    }

    /** Threads end by themselves after the call that tells them to. */
    private static void awaitNoThread(String... names) throws InterruptedException {
        Set<Thread> left;
        do {
            left = Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> List.of(names).stream()
                            .anyMatch(name -> thread.getName().startsWith(name)))
                    .collect(Collectors.toSet());
            for (Thread thread : left) {
                TimeUnit.SECONDS.timedJoin(thread, 20);
                assertThat(thread.isAlive()).as(thread.getName()).isFalse();
            }
        } while (!left.isEmpty());
    }
}
