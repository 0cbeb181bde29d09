package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.NotInitialisedException;
import io.hvd.error.ShutdownException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** Ranks as threads of this JVM. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class SpawnTest {
    @Test
    void givesTheResultsByRank() {
        assertThat(Hvd.spawn(4, hvd -> "rank " + hvd.rank() + " of " + hvd.size()))
                .containsExactly("rank 0 of 4", "rank 1 of 4", "rank 2 of 4", "rank 3 of 4");
        assertThat(Hvd.<String>spawn(2, hvd -> null)).containsExactly(null, null);
    }

    @Test
    void aRankHasItsOwnContextInsideTheBodyAndInThreadsThatTheBodyStarts() {
        List<List<Integer>> seen = Hvd.spawn(3, hvd -> {
            List<Integer> ranks = new ArrayList<>(
                    List.of(Hvd.rank(), Hvd.localRank(), Hvd.context().rank()));
            Thread child = new Thread(() -> {
                ranks.add(Hvd.rank());
                Thread grandchild = new Thread(() -> ranks.add(Hvd.rank()));
                grandchild.start();
                join(grandchild);
            });
            child.start();
            join(child);
            assertThat(Hvd.size()).isEqualTo(3);
            assertThat(Hvd.context()).isSameAs(hvd);
            return ranks;
        });
        for (int rank = 0; rank < 3; rank++) {
            assertThat(seen.get(rank)).containsExactly(rank, rank, rank, rank, rank);
        }
    }

    /** Its threads come from whichever rank first gave it work. */
    @Test
    void aPoolThatRanksShareKnowsNoRankAndSaysWhatToUse() throws Exception {
        ExecutorService shared = Executors.newFixedThreadPool(1);
        try {
            Hvd.spawn(3, hvd -> {
                for (int turn = 0; turn < 3; turn++) {
                    if (turn == hvd.rank()) {
                        String thread = shared.submit(
                                        () -> Thread.currentThread().getName())
                                .get();
                        refusedOn(
                                thread,
                                shared.submit(() -> catchThrowable(Hvd::rank)).get(),
                                "Hvd.rank()");
                        refusedOn(
                                thread,
                                shared.submit(() -> catchThrowable(Hvd::context))
                                        .get(),
                                "Hvd.context()");
                        refusedOn(
                                thread,
                                shared.submit(() -> catchThrowable(Hvd::init)).get(),
                                "Hvd.init()");
                        refusedOn(
                                thread,
                                shared.submit(() -> catchThrowable(Hvd::shutdown))
                                        .get(),
                                "Hvd.shutdown()");
                        assertThat(shared.submit(hvd::rank).get())
                                .as("the context handed over")
                                .isEqualTo(turn);
                        assertThat(Hvd.rank()).isEqualTo(turn);
                    }
                    hvd.barrier();
                }
                return null;
            });
        } finally {
            shared.shutdown();
        }
    }

    @Test
    void aThreadThatAPoolsThreadStartsKnowsNoRankEither() {
        ExecutorService shared = Executors.newCachedThreadPool();
        try {
            Hvd.spawn(2, hvd -> {
                List<Throwable> seen = new ArrayList<>();
                shared.submit(() -> {
                            Thread child = new Thread(() -> seen.add(catchThrowable(Hvd::localRank)), "a pool's child");
                            child.start();
                            join(child);
                        })
                        .get();
                refusedOn("a pool's child", seen.get(0), "Hvd.localRank()");
                return null;
            });
        } finally {
            shared.shutdown();
        }
    }

    @Test
    void aThreadFromBeforeTheSpawnIsToldToUseTheContextAndNotToInitialise() throws Exception {
        ExecutorService before = Executors.newSingleThreadExecutor();
        try {
            String thread =
                    before.submit(() -> Thread.currentThread().getName()).get();
            Hvd.spawn(2, hvd -> {
                assertThat(before.submit(() -> catchThrowable(Hvd::rank)).get())
                        .isInstanceOf(NotInitialisedException.class)
                        .hasMessageContainingAll("HVD-101", "Hvd.rank()", thread, "HvdContext")
                        .hasMessageNotContaining("init");
                hvd.barrier();
                return null;
            });
            assertThat(before.submit(() -> catchThrowable(Hvd::rank)).get()).hasMessageContaining("Hvd.init()");
        } finally {
            before.shutdown();
        }
    }

    @Test
    void aForkJoinPoolKnowsNoRank() {
        ForkJoinPool shared = new ForkJoinPool(2);
        try {
            Hvd.spawn(2, hvd -> {
                Throwable seen = shared.submit(() -> catchThrowable(Hvd::size)).get();
                refusedOn("ForkJoinPool", seen, "Hvd.size()");
                return null;
            });
        } finally {
            shared.shutdown();
        }
    }

    /** The caller works on its own stream too, and the JDK decides whether the pool's threads inherit anything. */
    @Test
    void aParallelStreamNeverSeesTheRankOfAnother() {
        Hvd.spawn(4, hvd -> {
            Thread own = Thread.currentThread();
            List<String> wrong = IntStream.range(0, 2_000)
                    .parallel()
                    .mapToObj(i -> {
                        try {
                            return Hvd.rank() == hvd.rank() && Thread.currentThread() == own
                                    ? ""
                                    : Thread.currentThread().getName() + " is rank " + Hvd.rank();
                        } catch (NotInitialisedException e) {
                            return Thread.currentThread() == own ? "its own thread: " + e : "";
                        }
                    })
                    .filter(answer -> !answer.isEmpty())
                    .toList();
            assertThat(wrong).isEmpty();
            return null;
        });
    }

    private static void refusedOn(String thread, Throwable seen, String call) {
        assertThat(seen)
                .isInstanceOf(NotInitialisedException.class)
                .hasMessageContainingAll("HVD-101", call, thread, "pool", "HvdContext");
    }

    @Test
    void theCallingThreadHasNoRankAfterwards() {
        Hvd.spawn(2, hvd -> hvd.rank());
        assertThat(Hvd.isInitialized()).isFalse();
        assertThatThrownBy(Hvd::rank).isInstanceOf(NotInitialisedException.class);
    }

    /** 6.3 */
    @Test
    void processSetsThatMayNotComeOrGoNameTheVariableAndTheOptionAndStayAsTheyAre() {
        InitOptions oneSet = InitOptions.standard().withProcessSets(List.of(List.of(0, 1)));
        Hvd.spawn(3, oneSet, hvd -> {
            ProcessSet there = hvd.processSet(1);
            refusedWithoutDynamicSets("addProcessSet", () -> hvd.addProcessSet(List.of(1, 2)));
            refusedWithoutDynamicSets("removeProcessSet", () -> hvd.removeProcessSet(there));
            assertThat(hvd.processSets()).containsOnlyKeys(0, 1);
            if (there.included()) {
                assertThat(there.allreduce("pair", Tensor.of(1f), AllreduceOptions.sum())
                                .item())
                        .isEqualTo(2);
            }
            return null;
        });
    }

    private static void refusedWithoutDynamicSets(String call, ThrowingCallable change) {
        assertThatThrownBy(change)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_SETTING))
                .hasMessageContainingAll(call, "HOROVOD_DYNAMIC_PROCESS_SETS=1", "withDynamicProcessSets()");
    }

    @Test
    void wantsAtLeastOneRank() {
        assertThatThrownBy(() -> Hvd.spawn(0, hvd -> 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("0 ranks");
    }

    @Test
    void aRankThatThrowsIsTheCauseAndTheOthersAreToldWhoAndWhy() {
        Map<Integer, Throwable> others = new ConcurrentHashMap<>();
        HvdException thrown = catchThrowableOfType(
                HvdException.class,
                () -> Hvd.spawn(4, hvd -> {
                    if (hvd.rank() == 2) {
                        throw new IllegalStateException("no more data in shard 2");
                    }
                    Throwable seen = catchThrowable(() -> hvd.allreduce("gradient", Tensor.of(1f)));
                    others.put(hvd.rank(), seen);
                    throw (Exception) seen;
                }));
        assertThat(thrown)
                .hasMessageContainingAll("rank 2", "no more data in shard 2")
                .hasCauseExactlyInstanceOf(IllegalStateException.class);
        assertThat(thrown.getSuppressed()).hasSize(3);
        assertThat(others).containsOnlyKeys(0, 1, 3);
        assertThat(others.values())
                .allSatisfy(seen -> assertThat(seen)
                        .isInstanceOf(ShutdownException.class)
                        .hasMessageContainingAll("rank 2", "no more data in shard 2"));
    }

    @Test
    void aRankThatThrowsInTheMidstOfACollectiveIsStillTheCause() {
        for (int round = 0; round < 60; round++) {
            Map<Integer, Throwable> others = new ConcurrentHashMap<>();
            Throwable thrown = catchThrowable(() -> Hvd.spawn(3, hvd -> {
                Tensor large = Tensor.zeros(DType.FLOAT32, Shape.of(1 << 20));
                Handle handle = hvd.allreduceInPlaceAsync("large", large, AllreduceOptions.sum());
                if (hvd.rank() == 1) {
                    handle.poll();
                    throw new IllegalStateException("gave up");
                }
                try {
                    handle.synchronize();
                    hvd.barrier();
                } catch (Throwable e) {
                    others.put(hvd.rank(), e);
                    throw e;
                }
                return null;
            }));
            assertThat(thrown)
                    .as("round %d", round)
                    .hasMessageContaining("rank 1")
                    .hasCauseExactlyInstanceOf(IllegalStateException.class);
            assertThat(others.values())
                    .allSatisfy(seen -> assertThat(seen)
                            .isInstanceOf(ShutdownException.class)
                            .hasMessageContainingAll("rank 1", "gave up"));
        }
    }

    @Test
    void whatABodyMakesOfItsConsequenceIsNotTakenForTheCause() {
        for (int round = 0; round < 60; round++) {
            assertThatThrownBy(() -> Hvd.spawn(3, hvd -> {
                        if (hvd.rank() == 1) {
                            throw new IllegalStateException("gave up");
                        }
                        try {
                            hvd.barrier();
                        } catch (ShutdownException e) {
                            throw new UnsupportedOperationException("training stopped", e);
                        }
                        return null;
                    }))
                    .as("round %d", round)
                    .hasCauseExactlyInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void anErrorOrACheckedExceptionIsPassedOnAsTheCauseToo() {
        assertThatThrownBy(() -> Hvd.spawn(2, hvd -> {
                    if (hvd.rank() == 0) {
                        throw new java.io.IOException("disk");
                    }
                    hvd.barrier();
                    return null;
                }))
                .hasCauseExactlyInstanceOf(java.io.IOException.class);
        assertThatThrownBy(() -> Hvd.spawn(2, hvd -> {
                    if (hvd.rank() == 1) {
                        throw new AssertionError("wrong");
                    }
                    hvd.barrier();
                    return null;
                }))
                .hasCauseExactlyInstanceOf(AssertionError.class);
    }

    @Test
    void aRankWhoseCommunicationFailsFreesTheOthersThoughItsBodyGoesOn() {
        AtomicInteger freed = new AtomicInteger();
        assertThatThrownBy(() -> Hvd.spawn(3, hvd -> {
                    ByteBuffer memory = ByteBuffer.allocateDirect(40).order(ByteOrder.nativeOrder());
                    // Rank 1's communication thread cannot write the result.
                    Tensor tensor = Tensor.wrap(
                            hvd.rank() == 1 ? memory.asReadOnlyBuffer().order(ByteOrder.nativeOrder()) : memory,
                            DType.FLOAT32,
                            Shape.of(10));
                    if (hvd.rank() == 1) {
                        assertThatThrownBy(() -> hvd.allreduceInPlace("w", tensor, AllreduceOptions.sum()))
                                .isInstanceOf(HvdException.class)
                                .hasMessageContainingAll("[w]", "rank 1", "ReadOnlyBuffer");
                        return null;
                    }
                    try {
                        hvd.allreduceInPlace("w", tensor, AllreduceOptions.sum());
                        hvd.barrier();
                    } catch (ShutdownException e) {
                        freed.incrementAndGet();
                        assertThat(e).hasMessageContainingAll("rank 1", "ReadOnlyBuffer");
                        throw e;
                    }
                    return null;
                }))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("ReadOnlyBuffer");
        assertThat(freed).hasValue(2);
    }

    @Test
    void aRankThatLeavesEarlyIsNamedToThoseWhoWaitForIt() {
        assertThatThrownBy(() -> Hvd.spawn(3, hvd -> hvd.rank() == 1 ? null : hvd.allreduce("late", Tensor.of(1f))))
                .hasCauseInstanceOf(ShutdownException.class)
                .hasMessageContainingAll("\"late\"", "{1}", "closed", "fewer steps", "join()");
    }

    @Test
    void noThreadOfASpawnOutlivesIt() throws InterruptedException {
        Set<Thread> before = threads();
        Hvd.spawn(3, hvd -> hvd.allreduce("x", Tensor.of(1f)).item());
        catchThrowable(() -> Hvd.spawn(3, hvd -> {
            if (hvd.rank() == 1) {
                throw new IllegalStateException("stop");
            }
            hvd.barrier();
            return null;
        }));
        for (Thread thread : threads()) {
            if (!before.contains(thread)) {
                thread.join(20_000);
                assertThat(thread.isAlive()).as(thread.getName()).isFalse();
            }
        }
    }

    @Test
    void spawnsOneAfterTheOtherDoNotMeet() {
        for (int size = 1; size <= 5; size++) {
            float sum = IntStream.range(0, size).sum();
            assertThat(Hvd.spawn(
                            size,
                            hvd -> hvd.allreduce("same name", Tensor.of((float) hvd.rank()), AllreduceOptions.sum())
                                    .item()))
                    .hasSize(size)
                    .containsOnly(sum);
        }
    }

    private static Set<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("hvd-"))
                .collect(Collectors.toSet());
    }

    private static void join(Thread thread) {
        try {
            thread.join(20_000);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
