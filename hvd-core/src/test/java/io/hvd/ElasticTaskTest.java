package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.elastic.ElasticLimits;
import io.hvd.elastic.OpenCoordinator;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.net.Encryption;
import io.hvd.net.HandshakeListener;
import io.hvd.net.PortRange;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Workers of an elastic job as tasks on the threads of one pool, as in an executor of Spark's. */
@Timeout(60)
class ElasticTaskTest {
    private static final byte[] SECRET = HandshakeListener.newSecret();
    private static final int STEPS = 300;

    private final ExecutorService pool = Executors.newCachedThreadPool();
    private final Queue<String> said = new ConcurrentLinkedQueue<>();

    @AfterEach
    void end() {
        pool.shutdownNow();
    }

    private OpenCoordinator coordinator(int atLeast, int atMost) throws IOException {
        var limits = new ElasticLimits(atLeast, atMost, atMost, 20_000, 20_000, Integer.MAX_VALUE);
        return OpenCoordinator.start(
                new OpenCoordinator.Terms(
                        0, SECRET, limits, Duration.ofSeconds(10), "", PortRange.ANY, Encryption.NONE),
                said::add);
    }

    /** A task, which the scheduler may cancel. */
    private static final class Worker implements Elastic.Task {
        private final int port;
        private volatile String cancelled = "";
        private volatile boolean told;

        Worker(OpenCoordinator coordinator) {
            this.port = coordinator.port();
        }

        @Override
        public List<InetSocketAddress> coordinator() {
            return List.of(InetSocketAddress.createUnresolved("localhost", port));
        }

        @Override
        public byte[] secret() {
            return SECRET;
        }

        @Override
        public Optional<String> cancelled() {
            told = !cancelled.isEmpty();
            return Optional.of(cancelled).filter(why -> !why.isEmpty());
        }
    }

    /** What a worker adds up: in each step all ranks add the number of ranks to it. */
    private static final class Sum implements ElasticState {
        private float[] sum = new float[1];

        @Override
        public void sync(HvdContext hvd, int root) {
            sum = (float[]) hvd.broadcast("sum", Tensor.of(sum), root).toArray();
        }

        @Override
        public Runnable backup() {
            float[] before = sum.clone();
            return () -> sum = before;
        }
    }

    private interface EachStep {
        void run(Elastic elastic) throws Exception;
    }

    /** @return the sum behind the last step */
    private static float train(Sum state, EachStep before) throws Exception {
        Elastic.run(state, elastic -> {
            while (elastic.step() < STEPS) {
                before.run(elastic);
                assertThat(Hvd.rank()).isEqualTo(elastic.context().rank());
                float[] one = (float[]) elastic.context()
                        .allreduce("one", Tensor.of(new float[] {1}), AllreduceOptions.of(ReduceOp.SUM))
                        .toArray();
                state.sum[0] += one[0];
                elastic.commit();
            }
        });
        return state.sum[0];
    }

    private Future<Optional<Float>> start(Worker worker, EachStep before) {
        return pool.submit(() -> Elastic.runTask(worker, InitOptions.standard(), () -> train(new Sum(), before)));
    }

    private static void atStep(Elastic elastic, int step, CountDownLatch reached) {
        if (elastic.step() == step) {
            reached.countDown();
        }
    }

    @Test
    void workersOfOneProcessTrainSideBySide() throws Exception {
        try (OpenCoordinator coordinator = coordinator(2, 2)) {
            var first = start(new Worker(coordinator), elastic -> {});
            var second = start(new Worker(coordinator), elastic -> {});

            assertThat(first.get()).contains(2f * STEPS);
            assertThat(second.get()).contains(2f * STEPS);
            assertThat(coordinator.await()).isEmpty();
            assertThat(Elastic.runTask(
                            new Worker(coordinator), InitOptions.standard(), () -> train(new Sum(), e -> {})))
                    .as("a worker that comes after the end")
                    .isEmpty();
        }
    }

    @Test
    void whatFailsBehindTheTrainingIsToldToTheCoordinatorAndNotTriedAgainByThoseThatCome() throws Exception {
        try (OpenCoordinator coordinator = coordinator(1, 1)) {
            Callable<Float> twice = () -> train(new Sum(), elastic -> {}) + train(new Sum(), elastic -> {});
            Callable<Float> wrapped = () -> {
                try {
                    return train(new Sum(), elastic -> {});
                } catch (RuntimeException e) {
                    throw new IOException("training failed", e);
                }
            };

            assertThatThrownBy(() -> Elastic.runTask(new Worker(coordinator), InitOptions.standard(), twice))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("Elastic.run was called a second time in one task, expected once");
            assertThat(coordinator.await()).isEmpty();
            assertThat(coordinator.members()).isEqualTo(1);
            assertThat(coordinator.failuresBehindTheEnd())
                    .singleElement()
                    .asString()
                    .startsWith("worker 0 on ")
                    .contains("has failed behind the end of the training", "a second time");
            assertThat(Elastic.runTask(new Worker(coordinator), InitOptions.standard(), wrapped))
                    .isEmpty();
        }
    }

    @Test
    void aWorkerThatFailsIsReplacedByOneWithTheStateOfTheOthers() throws Exception {
        try (OpenCoordinator coordinator = coordinator(2, 2)) {
            var survivor = start(new Worker(coordinator), elastic -> {});
            var failing = start(new Worker(coordinator), elastic -> {
                if (elastic.step() == 100) {
                    throw new IllegalStateException("a bad row");
                }
            });

            assertThatThrownBy(failing::get)
                    .isInstanceOf(ExecutionException.class)
                    .hasRootCauseMessage("a bad row");
            var other = start(
                    new Worker(coordinator),
                    elastic -> assertThat(elastic.step()).isGreaterThanOrEqualTo(100));

            assertThat(survivor.get()).contains(2f * STEPS);
            assertThat(other.get()).contains(2f * STEPS);
            assertThat(coordinator.await()).isEmpty();
            assertThat(said).anyMatch(sentence -> sentence.contains("is lost") && sentence.contains("a bad row"));
        }
    }

    @Test
    void aWorkerThatTheSchedulerCancelsLeavesTheOthersAlone() throws Exception {
        try (OpenCoordinator coordinator = coordinator(1, 2)) {
            CountDownLatch reached = new CountDownLatch(1);
            Worker unwanted = new Worker(coordinator);
            var other = start(new Worker(coordinator), elastic -> {});
            var cancelled = start(unwanted, elastic -> {
                atStep(elastic, 50, reached);
                while (elastic.step() == 50 && !unwanted.told) {
                    Thread.sleep(1);
                }
            });
            reached.await();

            unwanted.cancelled = "the stage was cancelled";

            assertThatThrownBy(cancelled::get)
                    .hasCauseInstanceOf(ShutdownException.class)
                    .hasMessageContaining(
                            "the scheduler has cancelled this task of an elastic job: the stage was cancelled");
            assertThat(other.get()).hasValueSatisfying(sum -> assertThat(sum).isBetween(1.1f * STEPS, 1.3f * STEPS));
        }
    }

    @Test
    void aWorkerThatWaitsForOthersEndsWhenItIsCancelled() throws Exception {
        try (OpenCoordinator coordinator = coordinator(2, 2)) {
            Worker only = new Worker(coordinator);
            var waiting = start(only, elastic -> {});
            while (said.isEmpty()) {
                Thread.sleep(5);
            }

            only.cancelled = "the driver has ended";

            assertThatThrownBy(waiting::get)
                    .hasCauseInstanceOf(ShutdownException.class)
                    .hasMessageContaining("the driver has ended");
        }
    }

    @Test
    void aWorkerWhoseCoordinatorIsNotThereEndsWhenItIsCancelled() throws Exception {
        OpenCoordinator gone = coordinator(1, 1);
        Worker worker = new Worker(gone);
        gone.close();
        var calling = start(worker, elastic -> {});

        worker.cancelled = "enough";

        assertThatThrownBy(calling::get)
                .hasCauseInstanceOf(ShutdownException.class)
                .hasMessageContaining("enough");
    }

    /** A pool's thread goes on with other tasks. */
    @Test
    void aTaskThatIsCancelledBeforeItJoinsIsInterruptedAndItsThreadIsNotAfterIt() throws Exception {
        try (OpenCoordinator coordinator = coordinator(1, 1)) {
            Worker worker = new Worker(coordinator);
            worker.cancelled = "enough";

            Elastic.runTask(worker, InitOptions.standard(), () -> {
                while (!Thread.currentThread().isInterrupted()) {
                    Thread.onSpinWait();
                }
                return 1;
            });

            assertThat(Thread.currentThread().isInterrupted()).isFalse();
        }
    }

    @Test
    void aChoiceOfRanksIsRefused() {
        InitOptions options = InitOptions.standard().withProcessSets(List.of(List.of(0)));

        assertThatThrownBy(() -> Elastic.runTask(null, options, () -> 1))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("process sets [[0]]");
    }

    @Test
    void settingsOfTheOptionsCount() {
        InitOptions options = InitOptions.standard().withSettings(Map.of("HOROVOD_START_TIMEOUT", "none"));

        assertThatThrownBy(() -> Elastic.runTask(new Nobody(), options, () -> train(new Sum(), e -> {})))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("HOROVOD_START_TIMEOUT");
    }

    private static final class Nobody implements Elastic.Task {
        @Override
        public List<InetSocketAddress> coordinator() {
            return List.of();
        }

        @Override
        public byte[] secret() {
            return SECRET;
        }
    }
}
