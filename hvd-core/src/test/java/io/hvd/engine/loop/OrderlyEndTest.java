package io.hvd.engine.loop;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.engine.Engine;
import io.hvd.engine.message.Requests;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.Backend;
import io.hvd.trace.FlightRecorder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Three engines whose ranks have all closed, while one of them is not through with its own. */
@Timeout(60)
class OrderlyEndTest {
    private static final int SIZE = 3;

    private final List<Backend> backends = new ArrayList<>();
    private final List<Engine> engines = new ArrayList<>();
    private final List<BlockingQueue<String>> failures = new ArrayList<>();
    private final CountDownLatch farewells = new CountDownLatch(SIZE);
    private final CountDownLatch never = new CountDownLatch(1);

    @BeforeEach
    void start() {
        for (LocalProvider provider : LocalProvider.ofThreads(SIZE, 4096)) {
            Backend backend = provider.open(HvdConfig.from(Map.of()), List.of());
            BlockingQueue<String> heard = new LinkedBlockingQueue<>();
            Engine engine =
                    new Engine(backend, List.of(), Requests.settings(1 << 20, 0), new FlightRecorder(16), heard::add);
            backends.add(backend);
            failures.add(heard);
            engines.add(engine);
            daemon(engine::run);
        }
    }

    private static void daemon(Runnable task) {
        Thread thread = new Thread(task, "orderly-end-test");
        thread.setDaemon(true);
        thread.start();
    }

    private CompletableFuture<Void> close(int rank, Runnable last) {
        return CompletableFuture.runAsync(
                () -> engines.get(rank).close(() -> {
                    farewells.countDown();
                    last.run();
                }),
                OrderlyEndTest::daemon);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private List<CompletableFuture<Void>> closeAllButOneIsNotThrough(int busy) {
        List<CompletableFuture<Void>> closed = new ArrayList<>();
        for (int rank = 0; rank < SIZE; rank++) {
            boolean stays = rank == busy;
            closed.add(close(rank, () -> {
                if (stays) {
                    await(never);
                }
            }));
        }
        await(farewells);
        return closed;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void theDeathOfARankThatIsNotThroughIsHeardByAllOthers(int dead) throws Exception {
        List<CompletableFuture<Void>> closed = closeAllButOneIsNotThrough(dead);
        backends.get(dead).abandon("its process has ended");

        for (int rank = 0; rank < SIZE; rank++) {
            if (rank != dead) {
                assertThat(failures.get(rank).poll(20, TimeUnit.SECONDS))
                        .startsWith("rank " + dead + " is gone: its process has ended");
                closed.get(rank).get(20, TimeUnit.SECONDS);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void whatARankThatIsNotThroughCannotDoIsToldToAllOthers(int failing) throws Exception {
        closeAllButOneIsNotThrough(failing);

        assertThat(engines.get(failing).fail("rank " + failing + " has lost its disk", 20_000))
                .isTrue();
        for (BlockingQueue<String> heard : failures) {
            assertThat(heard.poll(20, TimeUnit.SECONDS)).isEqualTo("rank " + failing + " has lost its disk");
        }
    }

    @Test
    void nobodyLeavesBeforeTheLastIsThrough() throws Exception {
        List<String> order = Collections.synchronizedList(new ArrayList<>());
        List<CompletableFuture<Void>> closed = new ArrayList<>();
        for (int rank = 0; rank < SIZE; rank++) {
            boolean last = rank == 1;
            closed.add(close(rank, () -> {
                        if (last) {
                            await(farewells);
                        }
                        order.add("farewell");
                    })
                    .thenRun(() -> order.add("gone")));
        }
        for (CompletableFuture<Void> one : closed) {
            one.get(20, TimeUnit.SECONDS);
        }
        assertThat(order).containsExactly("farewell", "farewell", "farewell", "gone", "gone", "gone");
        assertThat(failures).allMatch(BlockingQueue::isEmpty);
    }

    @Test
    void aFarewellThatThrowsFailsTheJobWithItsCause() throws Exception {
        for (int rank = 0; rank < SIZE; rank++) {
            boolean throwing = rank == 1;
            close(rank, () -> {
                if (throwing) {
                    throw new IllegalStateException("the file is not closed");
                }
            });
        }
        assertThat(failures.get(1).poll(20, TimeUnit.SECONDS)).contains("rank 1", "the file is not closed");
    }
}
