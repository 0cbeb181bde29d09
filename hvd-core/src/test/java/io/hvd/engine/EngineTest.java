package io.hvd.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.engine.submission.Ops;
import io.hvd.engine.submission.Outcome;
import io.hvd.error.RankMismatchException;
import io.hvd.error.ShutdownException;
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
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Engines of three ranks on the local back end, each with a thread of its own. */
@Timeout(60)
class EngineTest {
    private static final int SIZE = 3;
    private static final long HOUR = TimeUnit.HOURS.toNanos(1);

    private final List<Backend> backends = new ArrayList<>();
    private final List<Engine> engines = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();

    private void start(long cycleNanos) {
        for (LocalProvider provider : LocalProvider.ofThreads(SIZE, 4096)) {
            Backend backend = provider.open(HvdConfig.from(Map.of()), List.of());
            Engine engine = new Engine(
                    backend, List.of(), Requests.settings(1 << 20, cycleNanos), new FlightRecorder(16), failures::add);
            backends.add(backend);
            engines.add(engine);
            Thread thread = new Thread(engine::run, "engine-test");
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
    }

    private CompletableFuture<Outcome> sum(int rank, String name, boolean hurry, float... values) {
        Tensor tensor = Tensor.of(values);
        Request request =
                Request.reduction(name, OpKind.ALLREDUCE, tensor, new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1));
        return Ops.submit(engines.get(rank), List.of(0, 1, 2), request, tensor, tensor, hurry);
    }

    private static <T> T get(CompletableFuture<T> result) throws Exception {
        return result.get(20, TimeUnit.SECONDS);
    }

    private void closeAll() throws Exception {
        List<CompletableFuture<Void>> closed = new ArrayList<>();
        for (Engine engine : engines) {
            closed.add(CompletableFuture.runAsync(engine::close, task -> new Thread(task).start()));
        }
        for (CompletableFuture<Void> one : closed) {
            get(one);
        }
        for (Thread thread : threads) {
            thread.join(20_000);
            assertThat(thread.isAlive()).isFalse();
        }
    }

    @Test
    void whatNobodyWaitsForIsHeldBackUntilSomebodyHurries() throws Exception {
        start(HOUR);
        List<CompletableFuture<Outcome>> results = new ArrayList<>();
        for (int rank = 0; rank < SIZE; rank++) {
            results.add(sum(rank, "held", false, rank, 10 * rank));
        }
        assertThat(results).noneMatch(CompletableFuture::isDone);
        engines.forEach(Engine::hurry);
        for (CompletableFuture<Outcome> result : results) {
            assertThat(get(result).tensor().toFloatArray()).containsExactly(3, 30);
        }
        closeAll();
        assertThat(failures).isEmpty();
    }

    @Test
    void aMismatchFailsOnEveryRankAndTheNameWorksAgain() throws Exception {
        start(0);
        List<CompletableFuture<Outcome>> results = new ArrayList<>();
        for (int rank = 0; rank < SIZE; rank++) {
            results.add(sum(rank, "x", true, rank == 1 ? new float[3] : new float[2]));
        }
        for (CompletableFuture<Outcome> result : results) {
            assertThatThrownBy(() -> get(result))
                    .hasCauseInstanceOf(RankMismatchException.class)
                    .hasMessageContainingAll("\"x\"", "[2] on ranks {0, 2}", "[3] on ranks {1}");
        }
        List<CompletableFuture<Outcome>> again = new ArrayList<>();
        for (int rank = 0; rank < SIZE; rank++) {
            again.add(sum(rank, "x", true, rank));
        }
        for (CompletableFuture<Outcome> result : again) {
            assertThat(get(result).tensor().item()).isEqualTo(3);
        }
        closeAll();
        assertThat(failures).isEmpty();
    }

    @Test
    void aRanksFailureReachesEveryRankBeforeFailReturns() throws Exception {
        start(HOUR);
        List<CompletableFuture<Outcome>> waiting = List.of(sum(0, "a", true, 1), sum(1, "a", true, 1));
        assertThat(engines.get(2).fail("rank 2 on host c: disk full", 20_000)).isTrue();
        for (CompletableFuture<Outcome> result : waiting) {
            assertThatThrownBy(() -> get(result))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(ShutdownException.class)
                    .hasMessageContaining("rank 2 on host c: disk full");
        }
        for (Thread thread : threads) {
            thread.join(20_000);
            assertThat(thread.isAlive()).isFalse();
        }
        assertThat(failures)
                .containsExactly(
                        "rank 2 on host c: disk full", "rank 2 on host c: disk full", "rank 2 on host c: disk full");
        assertThatThrownBy(() -> sum(0, "late", true, 1))
                .isInstanceOf(ShutdownException.class)
                .hasMessageContaining("disk full");
        engines.forEach(Engine::close);
    }

    @Test
    void failGivesUpWhenTheOthersCannotBeToldInTime() {
        Backend alone = LocalProvider.ofThreads(2, 4096).get(1).open(HvdConfig.from(Map.of()), List.of());
        Engine neverRuns =
                new Engine(alone, List.of(), Requests.settings(1 << 20, 0), new FlightRecorder(16), failures::add);
        assertThat(neverRuns.fail("too late", 1)).isFalse();
    }

    @Test
    void aLostRankIsNamedWithItsHost() throws Exception {
        start(HOUR);
        CompletableFuture<Outcome> waiting = sum(0, "a", true, 1);
        backends.get(1).abandon("killed");
        assertThatThrownBy(() -> get(waiting))
                .hasCauseInstanceOf(ShutdownException.class)
                .hasMessageContainingAll(
                        "rank 1 is gone", "killed", backends.get(1).topology().host());
    }

    @Test
    void closingFailsWhatIsStillPendingAndNamesTheClosedRank() throws Exception {
        start(HOUR);
        CompletableFuture<Outcome> lonely = sum(2, "lonely", false, 1);
        closeAll();
        assertThatThrownBy(() -> get(lonely))
                .hasCauseInstanceOf(ShutdownException.class)
                .hasMessageContaining("\"lonely\"");
        assertThatThrownBy(() -> sum(2, "late", true, 1))
                .isInstanceOf(ShutdownException.class)
                .hasMessageContaining("closed");
        assertThat(failures).isEmpty();
    }
}
