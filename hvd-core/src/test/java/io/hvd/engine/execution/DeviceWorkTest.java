package io.hvd.engine.execution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.engine.Engine;
import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Reducing;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.engine.submission.Ops;
import io.hvd.engine.submission.Outcome;
import io.hvd.engine.submission.PendingOp;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.Backend;
import io.hvd.spi.Collectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A device that is still at work when the collective has returned. It is made up, and proves nothing about a GPU. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class DeviceWorkTest {
    private static final int SIZE = 2;

    private final AtomicInteger worksBegun = new AtomicInteger();
    private final AtomicInteger worksDone = new AtomicInteger();
    private volatile boolean broken;
    /** A rank whose device never gets done. */
    private volatile int stuck = -1;

    private final List<Backend> backends = new ArrayList<>();
    private final List<Engine> engines = new ArrayList<>();
    private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();

    @BeforeEach
    void start() {
        for (LocalProvider provider : LocalProvider.ofThreads(SIZE, 4096)) {
            Backend backend = withDevice(provider.open(HvdConfig.from(Map.of()), List.of()));
            backends.add(backend);
            Engine engine = new Engine(
                    backend, List.of(), Requests.settings(1 << 20, 0), new FlightRecorder(16), failures::add);
            engines.add(engine);
            Thread thread = new Thread(engine::run, "unfinished-test");
            thread.setDaemon(true);
            thread.start();
        }
    }

    @AfterEach
    void end() {
        worksDone.set(Integer.MAX_VALUE);
        engines.forEach(engine -> new Thread(engine::close).start());
    }

    /** The back end itself, but that the data plane leaves something behind. */
    private Backend withDevice(Backend inner) {
        DataPlane device = new DeviceLike(inner.topology().rank(), inner.collectives()).proxy();
        return inner.with(inner.description(), new Recomposed.Planes(inner) {
            @Override
            public DataPlane ofAll() {
                return device;
            }
        });
    }

    /** The n-th collective is done when so many are; or it fails. */
    private final class DeviceLike {
        private final int rank;
        private final Collectives inner;
        private int works;

        DeviceLike(int rank, Collectives inner) {
            this.rank = rank;
            this.inner = inner;
        }

        DataPlane proxy() {
            return (DataPlane) Proxy.newProxyInstance(
                    getClass().getClassLoader(),
                    new Class<?>[] {DataPlane.class},
                    (proxy, method, args) -> method.getName().equals("completion")
                            ? completion()
                            : called(() -> method.invoke(inner, args)));
        }

        private Collectives.Completion completion() {
            int number = ++works;
            worksBegun.incrementAndGet();
            return () -> {
                if (broken) {
                    throw new IllegalStateException("the device is broken");
                }
                return worksDone.get() >= number && rank != stuck;
            };
        }
    }

    private static Object called(Reflected call) throws Throwable {
        try {
            return call.run();
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private interface Reflected {
        Object run() throws ReflectiveOperationException;
    }

    private CompletableFuture<Outcome> sum(int rank, String name) {
        Tensor tensor = Tensor.of((float) rank + 1);
        Reduction how = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);
        Request request = Request.reduction(name, OpKind.ALLREDUCE, tensor, how);
        return Ops.submit(engines.get(rank), List.of(0, 1), request, tensor, tensor, true);
    }

    private List<CompletableFuture<Outcome>> sums(String name) {
        return List.of(sum(0, name), sum(1, name));
    }

    /** Waits until so many collectives have returned, on all ranks together. */
    private void awaitWorks(int count) throws InterruptedException {
        while (worksBegun.get() < count) {
            TimeUnit.MILLISECONDS.sleep(1);
        }
    }

    @Test
    void anOperationIsDoneWhenTheDeviceIsAndTheNextOneStartsMeanwhile() throws Exception {
        List<CompletableFuture<Outcome>> first = sums("first");
        awaitWorks(SIZE);
        List<CompletableFuture<Outcome>> second = sums("second");
        awaitWorks(2 * SIZE);
        assertThat(first).noneMatch(CompletableFuture::isDone);

        worksDone.set(1);
        for (CompletableFuture<Outcome> one : first) {
            assertThat(one.get(20, TimeUnit.SECONDS).tensor().item()).isEqualTo(3);
        }
        assertThat(second).noneMatch(CompletableFuture::isDone);
        worksDone.set(2);
        for (CompletableFuture<Outcome> one : second) {
            assertThat(one.get(20, TimeUnit.SECONDS).tensor().item()).isEqualTo(3);
        }
    }

    @Test
    void ranksLeaveOnlyWhenTheDeviceHasDoneItsPart() throws Exception {
        List<CompletableFuture<Outcome>> last = sums("last");
        List<CompletableFuture<Void>> closed = engines.stream()
                .map(engine -> CompletableFuture.runAsync(engine::close, task -> new Thread(task).start()))
                .toList();
        TimeUnit.MILLISECONDS.sleep(50);
        assertThat(closed).noneMatch(CompletableFuture::isDone);

        worksDone.set(1);
        for (int rank = 0; rank < SIZE; rank++) {
            closed.get(rank).get(20, TimeUnit.SECONDS);
            assertThat(last.get(rank).join().tensor().item()).isEqualTo(3);
        }
        assertThat(failures).isEmpty();
    }

    /** On another host nobody else may hear of it. */
    @Test
    void aDeathIsHeardWhileADeviceFinishesWhatIsLeftAfterAllHaveClosed() throws Exception {
        stuck = 0;
        List<CompletableFuture<Outcome>> last = sums("last");
        worksDone.set(1);
        CountDownLatch leaves = new CountDownLatch(1);
        new Thread(engines.get(0)::close).start();
        new Thread(() -> engines.get(1).close(leaves::countDown)).start();
        leaves.await();
        backends.get(1).abandon("its process has ended");

        assertThatThrownBy(() -> last.get(0).get(20, TimeUnit.SECONDS))
                .hasCauseInstanceOf(ShutdownException.class)
                .hasMessageContaining("rank 1 is gone: its process has ended");
        assertThat(failures).anyMatch(why -> why.contains("rank 1 is gone: its process has ended"));
    }

    @Test
    void aDeviceThatFailsFailsTheOperationAndTheJob() throws Exception {
        List<CompletableFuture<Outcome>> sums = sums("broken");
        broken = true;
        for (CompletableFuture<Outcome> one : sums) {
            assertThatThrownBy(() -> one.get(20, TimeUnit.SECONDS))
                    .cause()
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BACK_END))
                    .hasMessageContainingAll("allreduce", "broken", "the device is broken");
        }
        // First the operation hears of it, then the job.
        while (failures.isEmpty()) {
            TimeUnit.MILLISECONDS.sleep(1);
        }
        assertThat(failures).allMatch(why -> why.contains("the device is broken") || why.contains("rank "));
    }

    /** A millisecond would be lost in every step that ends with a wait for a GPU. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aDeviceIsLookedAtAgainSoon(boolean programWaits) {
        DeviceWork unfinished = new DeviceWork(failure -> {}, () -> programWaits);
        Tensor tensor = Tensor.of(1f);
        Request request =
                Request.reduction("w", OpKind.ALLREDUCE, tensor, new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1));
        PendingOp op = PendingOp.standIn((Reducing.Allreduce) request);
        SetMember set = new SetMember(
                0,
                List.of(0),
                0,
                new DeviceLike(0, backends.get(0).collectives()).proxy(),
                Requests.settings(1 << 20, 0),
                new DataLog(new FlightRecorder(1)));
        assertThat(unfinished.nanosUntilDue()).isEqualTo(Long.MAX_VALUE);

        unfinished.settle(unfinished.begin(set, List.of(op), new Batch.Barrier("w")));
        unfinished.look();
        assertThat(op.isDone()).isFalse();
        assertThat(unfinished.nanosUntilDue()).isLessThanOrEqualTo(25_000);

        worksDone.set(1);
        unfinished.look();
        assertThat(op.isDone()).isTrue();
        assertThat(unfinished.isEmpty()).isTrue();
    }

    /** The communication thread does not sit in the device's work, so it hears of it. */
    @Test
    void aFailureElsewhereEndsWhatTheDeviceWillNeverFinish() {
        List<CompletableFuture<Outcome>> sums = sums("stuck");
        engines.get(1).fail("rank 1 has lost its disk", 20_000);
        for (CompletableFuture<Outcome> one : sums) {
            assertThatThrownBy(() -> one.get(20, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(ShutdownException.class)
                    .hasMessageContaining("lost its disk");
        }
    }
}
