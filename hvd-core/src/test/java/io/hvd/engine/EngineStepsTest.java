package io.hvd.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.EngineSettings;
import io.hvd.config.HvdConfig;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.Ops;
import io.hvd.engine.submission.Outcome;
import io.hvd.error.BarrierTimeoutException;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.Backend;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.trace.FlightRecorder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** Engines of three ranks whose control messages are counted: with a static plan there are none. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class EngineStepsTest {
    private static final int SIZE = 3;
    private static final int SETTLES_AFTER = 4;

    private final CountedBackend.Counts seen = new CountedBackend.Counts();
    private final List<Engine> engines = new ArrayList<>();
    private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();

    @BeforeEach
    void start() {
        for (LocalProvider provider : LocalProvider.ofThreads(SIZE, 4096)) {
            Backend backend = CountedBackend.of(provider.open(HvdConfig.from(Map.of()), List.of()), seen);
            EngineSettings settings = new EngineSettings(
                    1 << 20, true, TimeUnit.HOURS.toNanos(1), 1024, SETTLES_AFTER, true, false, 0, 0);
            Engine engine = new Engine(backend, List.of(), settings, new FlightRecorder(16), failures::add);
            engines.add(engine);
            Thread thread = new Thread(engine::run, "static-plan-test");
            thread.setDaemon(true);
            thread.start();
        }
    }

    @AfterEach
    void close() throws Exception {
        List<CompletableFuture<Void>> closed = engines.stream()
                .map(engine -> CompletableFuture.runAsync(engine::close, task -> new Thread(task).start()))
                .toList();
        for (CompletableFuture<Void> one : closed) {
            one.get(20, TimeUnit.SECONDS);
        }
        assertThat(failures).isEmpty();
    }

    /** All ranks submit these tensors in their own order, and wait. */
    private void step(String... names) throws Exception {
        List<CompletableFuture<Outcome>> results = new ArrayList<>();
        for (int rank = 0; rank < SIZE; rank++) {
            for (int i = 0; i < names.length; i++) {
                results.add(sum(rank, names[(i + rank) % names.length]));
            }
        }
        // Every result is waited for: the first one may be done already, in a plan that the others have left since.
        for (int rank = 0; rank < SIZE; rank++) {
            for (String name : names) {
                Ops.hurry(engines.get(rank), name);
            }
        }
        for (CompletableFuture<Outcome> result : results) {
            assertThat(result.get(20, TimeUnit.SECONDS).tensor().item()).isEqualTo(3);
        }
    }

    private CompletableFuture<Outcome> sum(int rank, String name) {
        return sum(rank, name, false);
    }

    private CompletableFuture<Outcome> sum(int rank, String name, boolean waits) {
        Tensor tensor = Tensor.of((float) rank);
        Reduction how = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);
        Request request = Request.reduction(name, OpKind.ALLREDUCE, tensor, how);
        return Ops.submit(engines.get(rank), List.of(0, 1, 2), request, tensor, tensor, waits);
    }

    private void settle() throws Exception {
        // One step more, in which the requests become known.
        for (int i = 0; i <= SETTLES_AFTER; i++) {
            step("a", "b");
        }
    }

    @Test
    void theBackEndLearnsWhetherTheProgramWaits() throws Exception {
        CompletableFuture<Outcome> result = sum(0, "a");
        assertThat(seen.waits).hasSize(SIZE).noneMatch(BooleanSupplier::getAsBoolean);
        CompletableFuture<Void> waited = CompletableFuture.runAsync(
                () -> engines.get(0).await(Ops.pending(engines.get(0).slot(0, "a"))), task -> new Thread(task).start());
        while (!seen.waits.get(0).getAsBoolean()) {
            Thread.sleep(1);
        }
        assertThat(seen.waits.get(1).getAsBoolean()).isFalse();
        for (int rank = 1; rank < SIZE; rank++) {
            sum(rank, "a", true);
        }

        waited.get(20, TimeUnit.SECONDS);
        assertThat(seen.waits).noneMatch(BooleanSupplier::getAsBoolean);
    }

    @Test
    void stepsThatRepeatCostNoMessagesAfterAWhile() throws Exception {
        settle();
        int before = seen.messages.get();
        assertThat(before).isPositive();
        for (int i = 0; i < 20; i++) {
            step("a", "b");
        }
        assertThat(seen.messages.get()).isEqualTo(before);
    }

    @Test
    void aTensorLeftOutByAllIsNegotiatedAtOnceAndTheOldStepsSettleAgain() throws Exception {
        settle();
        int before = seen.messages.get();
        step("b");
        assertThat(seen.messages.get()).isGreaterThan(before);
        settle();
        int after = seen.messages.get();
        step("a", "b");
        assertThat(seen.messages.get()).isEqualTo(after);
    }

    /** In the first steps each tensor is carried out before the next one is there, and later all of them come at once. */
    @Test
    void thePlanIsCutAnewAsItsStepsHaveBeenSeenToRun() throws Exception {
        for (int i = 0; i <= SETTLES_AFTER; i++) {
            step("a");
            step("b");
            step("c");
            step("d");
        }
        seen.batches.set(0);
        step("a", "b", "c", "d");
        assertThat(seen.batches.get()).isEqualTo(4 * SIZE);
        int before = seen.messages.get();
        int steps = 0;
        while (seen.messages.get() == before) {
            step("a", "b", "c", "d");
            assertThat(++steps).isLessThan(100);
        }
        for (int i = 0; i <= SETTLES_AFTER; i++) {
            step("a", "b", "c", "d");
        }
        int after = seen.messages.get();
        seen.batches.set(0);
        step("a", "b", "c", "d");
        assertThat(seen.messages.get()).as("by the new plan").isEqualTo(after);
        assertThat(seen.batches.get()).isLessThan(4 * SIZE);
    }

    @Test
    void tensorsThatNeedOneAnothersResultAreNeverPutTogether() throws Exception {
        for (int i = 0; i < SETTLES_AFTER + 100; i++) {
            step("a");
            step("b");
        }
        int before = seen.messages.get();
        step("a");
        step("b");
        assertThat(seen.messages.get()).isEqualTo(before);
    }

    /** One rank is missing, and the others do not wait in the data plane for it. */
    @Test
    void aBarrierWithALimitEndsBesideThePlanAndThePlanGoesOn() throws Exception {
        settle();
        List<CompletableFuture<Outcome>> early = List.of(barrier(0, 20), barrier(1, 20));
        for (CompletableFuture<Outcome> one : early) {
            assertThatThrownBy(() -> one.get(20, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(BarrierTimeoutException.class)
                    .hasMessageContaining("{2}");
        }
        assertThatThrownBy(() -> barrier(2, 20_000).get(20, TimeUnit.SECONDS))
                .hasCauseInstanceOf(BarrierTimeoutException.class);
        int before = seen.messages.get();
        step("a", "b");
        assertThat(seen.messages.get()).as("the plan still holds").isEqualTo(before);
    }

    /** Rank 0 waits in the data plane for ranks that wait for its coordinator to answer. */
    @Test
    void aBarrierWithALimitEndsThoughRankZeroIsInAStepThatOthersHaveNotReached() throws Exception {
        settle();
        int before = seen.batches.get();
        List<CompletableFuture<Outcome>> all = new ArrayList<>(List.of(sum(0, "a"), sum(0, "b")));
        Ops.hurry(engines.get(0), "a");
        while (seen.batches.get() == before) {
            Thread.onSpinWait();
        }
        for (int rank = 0; rank < SIZE; rank++) {
            all.add(barrier(rank, 50));
        }
        for (int rank = 1; rank < SIZE; rank++) {
            all.addAll(List.of(sum(rank, "a"), sum(rank, "b", true)));
        }
        for (CompletableFuture<Outcome> one : all) {
            one.get(20, TimeUnit.SECONDS);
        }
    }

    @Test
    void aBarrierWithALimitEndsThoughRankZeroLeavesAPlanThatOthersStillFollow() throws Exception {
        settle();
        CompletableFuture<Void> closed =
                CompletableFuture.runAsync(engines.get(0)::close, task -> new Thread(task).start());
        while (seen.vetoes.get() == 0) {
            Thread.onSpinWait();
        }
        for (CompletableFuture<Outcome> one : List.of(barrier(1, 50), barrier(2, 50))) {
            assertThatThrownBy(() -> one.get(20, TimeUnit.SECONDS)).hasMessageContaining("{0}");
        }
        close();
        closed.get(20, TimeUnit.SECONDS);
    }

    private CompletableFuture<Outcome> barrier(int rank, long limitMillis) {
        Request request = new Request.Barrier("limited", limitMillis);
        CompletableFuture<Outcome> result = Ops.submit(engines.get(rank), List.of(0, 1, 2), request, null, null, true);
        Ops.hurry(engines.get(rank), "limited");
        return result;
    }

    @Test
    void anythingElseEndsThePlanAndIsCarriedOut() throws Exception {
        settle();
        step("c");
        step("a", "b");
        settle();
        int before = seen.messages.get();
        step("a", "b");
        assertThat(seen.messages.get()).isEqualTo(before);
    }

    /** More than once, because a communication thread that has not gone to sleep yet is quicker. */
    @Test
    void threadsThatWaitCarryTheStepOutThemselvesAndOneThatGoesOnDoesNot() throws Exception {
        settle();
        while (!seen.carriers.containsAll(List.of("caller-1", "caller-2"))) {
            List<CompletableFuture<Void>> callers = new ArrayList<>();
            for (int rank = 0; rank < SIZE; rank++) {
                int self = rank;
                callers.add(CompletableFuture.runAsync(
                        () -> call(self), task -> new Thread(task, "caller-" + self).start()));
            }
            for (CompletableFuture<Void> caller : callers) {
                caller.get(20, TimeUnit.SECONDS);
            }
        }
        assertThat(seen.carriers).doesNotContain("caller-0");
    }

    private void call(int rank) {
        CompletableFuture<Outcome> other = sum(rank, "b", false);
        assertThat(sum(rank, "a", rank != 0).join().tensor().item()).isEqualTo(3);
        assertThat(other.join().tensor().item()).isEqualTo(3);
    }

    /**
     * Rank 1 leaves the plan while a caller of rank 0 carries a step out: what rank 1 then announces reaches rank 0 before
     * its communication thread knows.
     */
    @Test
    void whatIsAnnouncedAfterAVetoCountsThoughTheCoordinatorHearsOfTheVetoLater() throws Exception {
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i <= SETTLES_AFTER; i++) {
                step("a");
            }
            CompletableFuture<Outcome> other = sum(1, "c");
            Ops.hurry(engines.get(1), "c");
            seen.late.set(new CountDownLatch(SIZE - 1));
            List<CompletableFuture<Outcome>> results = new ArrayList<>(List.of(other));
            CompletableFuture<Outcome> caller = CompletableFuture.supplyAsync(
                    () -> sum(0, "a", true).join(), task -> new Thread(task, CountedBackend.LATE_CALLER).start());
            for (int rank : new int[] {1, 2}) {
                results.add(sum(rank, "a"));
                Ops.hurry(engines.get(rank), "a");
            }
            caller.get(20, TimeUnit.SECONDS);
            seen.late.set(null);
            for (int rank : new int[] {0, 2}) {
                results.add(sum(rank, "c"));
                Ops.hurry(engines.get(rank), "c");
            }
            for (CompletableFuture<Outcome> result : results) {
                assertThat(result.get(20, TimeUnit.SECONDS).tensor().item()).isEqualTo(3);
            }
        }
    }

    /** A thread that was interrupted for its own reasons takes part all the same. */
    @Test
    void anInterruptedThreadWaitsOnAndKeepsItsMark() throws Exception {
        settle();
        CompletableFuture<Boolean> marked = CompletableFuture.supplyAsync(
                () -> {
                    Thread.currentThread().interrupt();
                    sum(1, "b", false);
                    sum(1, "a", true).join();
                    return Thread.interrupted();
                },
                task -> new Thread(task).start());
        for (int rank : new int[] {0, 2}) {
            sum(rank, "b", false);
            sum(rank, "a", false);
        }
        assertThat(marked.get(20, TimeUnit.SECONDS)).isTrue();
    }

    /** The last step's plan is on its way to a rank that has announced its closing already. */
    @Test
    void ranksMayCloseAtTheVeryMomentWhenStepsSettle() throws Exception {
        for (int i = 0; i < SETTLES_AFTER; i++) {
            step("a", "b");
        }
        List<CompletableFuture<Outcome>> last = new ArrayList<>();
        for (int rank = SIZE - 1; rank >= 0; rank--) {
            last.add(sum(rank, "a"));
            last.add(sum(rank, "b"));
            engines.get(rank).hurry();
            Engine engine = engines.get(rank);
            if (rank > 0) {
                new Thread(engine::close).start();
            }
        }
        for (CompletableFuture<Outcome> result : last) {
            assertThat(result.get(20, TimeUnit.SECONDS).tensor().item()).isEqualTo(3);
        }
    }
}
