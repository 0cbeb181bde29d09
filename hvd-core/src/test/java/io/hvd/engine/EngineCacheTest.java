package io.hvd.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.EngineSettings;
import io.hvd.config.HvdConfig;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.Ops;
import io.hvd.engine.submission.Outcome;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.Backend;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.trace.FlightRecorder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Engines of three ranks that remember as many requests as a test lets them. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class EngineCacheTest {
    private static final int SIZE = 3;
    private static final int SETTLES_AFTER = 4;
    private static final int STEPS = 150;
    private static final List<String> NAMES = List.of("a", "b", "c", "d", "e", "f");

    private final CountedBackend.Counts seen = new CountedBackend.Counts();
    private final List<Engine> engines = new ArrayList<>();
    private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();

    private void start(int cacheCapacity) {
        for (LocalProvider provider : LocalProvider.ofThreads(SIZE, 4096)) {
            Backend backend = CountedBackend.of(provider.open(HvdConfig.from(Map.of()), List.of()), seen);
            EngineSettings settings = new EngineSettings(16, true, 0, cacheCapacity, SETTLES_AFTER, true, false, 0, 0);
            Engine engine = new Engine(backend, List.of(), settings, new FlightRecorder(16), failures::add);
            engines.add(engine);
            Thread thread = new Thread(engine::run, "cache-test");
            thread.setDaemon(true);
            thread.start();
        }
    }

    /** Each rank goes on as soon as it has its own results, so it may name what others have forgotten already. */
    @ParameterizedTest(name = "capacity {0}")
    @ValueSource(ints = {0, 1, 3, 64})
    void everySumIsRightHoweverFewRequestsAreRemembered(int capacity) throws Exception {
        start(capacity);
        onAll(rank -> {
            for (int step = 0; step < STEPS; step++) {
                step(rank, step, someNames(step));
            }
        });
        onAll(rank -> engines.get(rank).close());
        assertThat(failures).isEmpty();
    }

    /** A static plan is made of requests that the ranks remember. */
    @ParameterizedTest(name = "capacity {0}")
    @CsvSource({"0, false", "1, false", "2, true", "64, true"})
    void stepsOfTwoTensorsSettleOnlyWhereBothAreRemembered(int capacity, boolean settles) throws Exception {
        start(capacity);
        List<Integer> sent = new ArrayList<>();
        for (int i = 0; i < 3 * SETTLES_AFTER; i++) {
            int before = seen.messages.get();
            onAll(rank -> step(rank, 1, List.of("a", "b")));
            sent.add(seen.messages.get() - before);
        }
        assertThat(sent.get(sent.size() - 1) == 0)
                .as("messages per step: %s", sent)
                .isEqualTo(settles);
        onAll(rank -> engines.get(rank).close());
        assertThat(failures).isEmpty();
    }

    /** The names of a step, the same on every rank. */
    private static List<String> someNames(int step) {
        Random random = new Random(step);
        List<String> names = new ArrayList<>(NAMES);
        Collections.shuffle(names, random);
        return names.subList(0, 1 + random.nextInt(NAMES.size()));
    }

    /** A rank's share of a step, in an order of its own; in every seventh the tensors are longer. */
    private void step(int rank, int step, List<String> names) throws Exception {
        List<String> mine = new ArrayList<>(names);
        Collections.shuffle(mine, new Random(SIZE * step + rank));
        Map<String, CompletableFuture<Outcome>> results = new LinkedHashMap<>();
        for (String name : mine) {
            float value = NAMES.indexOf(name) + step + rank;
            results.put(name, sum(rank, name, step % 7 == 0 ? new float[] {value, value} : new float[] {value}));
        }
        for (Map.Entry<String, CompletableFuture<Outcome>> result : results.entrySet()) {
            assertThat(result.getValue().get(20, TimeUnit.SECONDS).tensor().toFloatArray())
                    .as("%s in step %d on rank %d", result.getKey(), step, rank)
                    .hasSize(step % 7 == 0 ? 2 : 1)
                    .containsOnly(SIZE * (NAMES.indexOf(result.getKey()) + step) + 3);
        }
    }

    private CompletableFuture<Outcome> sum(int rank, String name, float... values) {
        Tensor tensor = Tensor.of(values);
        Reduction how = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);
        Request request = Request.reduction(name, OpKind.ALLREDUCE, tensor, how);
        return Ops.submit(engines.get(rank), List.of(0, 1, 2), request, tensor, tensor, true);
    }

    private interface RankWork {
        void run(int rank) throws Exception;
    }

    private static void onAll(RankWork work) throws Exception {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < SIZE; i++) {
            int rank = i;
            all.add(CompletableFuture.runAsync(
                    () -> {
                        try {
                            work.run(rank);
                        } catch (Exception e) {
                            throw new IllegalStateException(e);
                        }
                    },
                    task -> new Thread(task, "rank-" + rank).start()));
        }
        for (CompletableFuture<Void> one : all) {
            one.get(30, TimeUnit.SECONDS);
        }
    }
}
