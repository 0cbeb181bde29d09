package io.hvd.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.engine.message.Requests;
import io.hvd.engine.submission.Ops;
import io.hvd.error.ShutdownException;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.Backend;
import io.hvd.spi.DataPlane;
import io.hvd.tensor.Tensor;
import io.hvd.testing.Recomposed;
import io.hvd.trace.FlightRecorder;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A program that hears from an operation that the job is over may end at once. By then it must be known that the job was
 * over, or its end would be taken for the cause.
 */
@Timeout(value = 20, threadMode = ThreadMode.SEPARATE_THREAD)
class EngineFailureTest {
    private static final int RANKS = 2;

    private final List<ConcurrentLinkedQueue<String>> failures = new ArrayList<>();
    private final List<Engine> engines = new ArrayList<>();
    private volatile RuntimeException broken;

    private void start() {
        for (LocalProvider provider : LocalProvider.ofThreads(RANKS, 4096)) {
            ConcurrentLinkedQueue<String> heard = new ConcurrentLinkedQueue<>();
            failures.add(heard);
            Backend backend = breakable(provider.open(HvdConfig.from(Map.of()), List.of()));
            Engine engine =
                    new Engine(backend, List.of(), Requests.settings(1 << 20, 0), new FlightRecorder(16), heard::add);
            engines.add(engine);
            Thread thread = new Thread(engine::run, "failure-test");
            thread.setDaemon(true);
            thread.start();
        }
    }

    @AfterEach
    void end() {
        engines.forEach(engine -> new Thread(engine::close).start());
    }

    private Backend breakable(Backend inner) {
        DataPlane data = proxy(DataPlane.class, inner.collectives(), "allreduce");
        return inner.with(inner.description(), new Recomposed.Planes(inner) {
            @Override
            public DataPlane ofAll() {
                return data;
            }
        });
    }

    /** The inner one, but that one method fails once something is broken. */
    private <T> T proxy(Class<T> type, T inner, String replaced) {
        return type.cast(Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {type}, (proxy, method, args) -> {
                    if (method.getName().equals(replaced) && broken != null) {
                        throw broken;
                    }
                    try {
                        return method.invoke(inner, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }

    /** @return what the rank has known of the job's end when the result is there */
    private CompletableFuture<List<String>> knownAtTheEndOf(int rank) {
        Tensor tensor = Tensor.of(1f);
        return Ops.submit(engines.get(rank), List.of(0, 1), Requests.sum("gradient", 4), tensor, Tensor.of(0f), true)
                .handle((outcome, cause) -> List.copyOf(failures.get(rank)));
    }

    static Stream<Arguments> ofTheDataPlane() {
        return Stream.of(
                Arguments.of(new ShutdownException("rank 1 is gone"), "rank 1 is gone"),
                Arguments.of(new IllegalStateException("the memory is damaged"), "the memory is damaged"));
    }

    @ParameterizedTest
    @MethodSource("ofTheDataPlane")
    void theEndOfTheJobIsKnownBeforeAnOperationFailsInTheDataPlane(RuntimeException cause, String words)
            throws Exception {
        broken = cause;
        start();
        List<CompletableFuture<List<String>>> known = List.of(knownAtTheEndOf(0), knownAtTheEndOf(1));

        for (CompletableFuture<List<String>> atTheEnd : known) {
            assertThat(atTheEnd.get(10, TimeUnit.SECONDS))
                    .singleElement()
                    .asString()
                    .contains(words);
        }
    }

    @Test
    void theEndOfTheJobIsKnownBeforeAnOperationFailsBecauseOfAnotherRank() throws Exception {
        start();
        CompletableFuture<List<String>> known = knownAtTheEndOf(0);

        assertThat(engines.get(1).fail("rank 1: the disk is full", 10_000)).isTrue();

        assertThat(known.get(10, TimeUnit.SECONDS)).containsExactly("rank 1: the disk is full");
    }
}
