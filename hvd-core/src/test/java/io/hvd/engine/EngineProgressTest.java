package io.hvd.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.engine.message.Requests;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.Backend;
import io.hvd.trace.FlightRecorder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A rank that sleeps moves on what it has sent as often as its back end asks for it. */
@Timeout(60)
class EngineProgressTest {
    private static final int SIZE = 2;
    private static final int SEVERAL = 20;

    private final CountedBackend.Counts seen = new CountedBackend.Counts();
    private final List<Engine> engines = new ArrayList<>();
    private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();

    private void start() {
        for (LocalProvider provider : LocalProvider.ofThreads(SIZE, 4096)) {
            Backend backend = CountedBackend.of(provider.open(HvdConfig.from(Map.of()), List.of()), seen);
            Engine engine = new Engine(
                    backend,
                    List.of(),
                    Requests.settings(1 << 20, TimeUnit.HOURS.toNanos(1)),
                    new FlightRecorder(16),
                    failures::add);
            engines.add(engine);
            run(engine::run);
        }
    }

    private static CompletableFuture<Void> run(Runnable task) {
        return CompletableFuture.runAsync(task, body -> {
            Thread thread = new Thread(body, "engine-progress-test");
            thread.setDaemon(true);
            thread.start();
        });
    }

    private void awaitSeveralMore() throws InterruptedException {
        int enough = seen.progress.get() + SEVERAL;
        while (seen.progress.get() < enough) {
            Thread.sleep(1);
        }
    }

    @Test
    void whileTheProgramComputesAndWhileTheLastFarewellIsAwaited() throws Exception {
        seen.progressDueNanos = 2_000_000;
        start();
        awaitSeveralMore();
        CountDownLatch farewell = new CountDownLatch(1);
        List<CompletableFuture<Void>> closed = new ArrayList<>();
        engines.forEach(engine -> closed.add(run(() -> engine.close(() -> await(farewell)))));
        awaitSeveralMore();
        farewell.countDown();
        for (CompletableFuture<Void> one : closed) {
            one.get(20, TimeUnit.SECONDS);
        }
        assertThat(failures).isEmpty();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
