package io.hvd.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.EngineSettings;
import io.hvd.config.HvdConfig;
import io.hvd.engine.Engine;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.Ops;
import io.hvd.engine.submission.Outcome;
import io.hvd.host.local.LocalProvider;
import io.hvd.kernel.ReduceKernel;
import io.hvd.spi.Backend;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.DataPlane;
import io.hvd.spi.OpKind;
import io.hvd.spi.Progress;
import io.hvd.spi.Reduction;
import io.hvd.spi.Topology;
import io.hvd.spi.Transfers;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.trace.FlightRecorder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A plan larger than the sockets' buffers must reach the others before rank 0 turns to the data plane. */
@Timeout(60)
class LargePlanTest {
    private static final int OPERATIONS = 12_000;
    private static final String LONG_NAME = "a.module.deep.inside.another.module.".repeat(40);

    /** Data between threads, control over sockets. */
    private record Mixed(Backend data, SocketControl sockets) implements Backend {
        @Override
        public String description() {
            return "threads and sockets";
        }

        @Override
        public Topology topology() {
            return data.topology();
        }

        @Override
        public ControlChannel control() {
            return sockets;
        }

        @Override
        public DataPlane collectives() {
            return data.collectives();
        }

        @Override
        public DataPlane collectives(List<Integer> members) {
            return data.collectives(members);
        }

        @Override
        public List<byte[]> exchange(byte[] mine) {
            return data.exchange(mine);
        }

        @Override
        public ControlChannel openChannel() {
            return data.openChannel();
        }

        @Override
        public Transfers transfers() {
            return data.transfers();
        }

        @Override
        public ReduceKernel kernel() {
            return data.kernel();
        }

        @Override
        public void programWaits(BooleanSupplier waits) {
            data.programWaits(waits);
        }

        @Override
        public Progress progress() {
            return data.progress();
        }

        @Override
        public void abort(int exitCode, String reason) {
            data.abort(exitCode, reason);
        }

        @Override
        public void close() {
            data.exchange(new byte[0]); // nobody hangs up while another still has to read
            sockets.close();
        }
    }

    @Test
    void thousandsOfLongNamesInOnePlanDoNotHangTheJob() throws Exception {
        HvdConfig config = HvdConfig.from(Map.of());
        List<LocalProvider> team = LocalProvider.ofThreads(2, 4096);
        List<SocketControl> star = Star.connect(2);
        List<Engine> engines = new ArrayList<>();
        List<CompletableFuture<Outcome>> results = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            Backend backend = new Mixed(team.get(rank).open(config, List.of()), star.get(rank));
            // Nothing is announced before somebody waits, so that all names travel in one plan.
            Engine engine = new Engine(
                    backend,
                    List.of(),
                    new EngineSettings(Long.MAX_VALUE, true, TimeUnit.HOURS.toNanos(1), 1024, 10, true, false, 0, 0),
                    new FlightRecorder(16),
                    why -> {});
            engines.add(engine);
            for (int i = 0; i < OPERATIONS; i++) {
                Tensor tensor = Tensor.of((float) (rank + i));
                Request request = Request.reduction(
                        LONG_NAME + i, OpKind.ALLREDUCE, tensor, new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1));
                results.add(Ops.submit(engine, List.of(0, 1), request, tensor, tensor, false));
            }
        }
        for (Engine engine : engines) {
            engine.hurry();
            Thread thread = new Thread(engine::run, "large-plan");
            thread.setDaemon(true);
            thread.start();
        }
        for (int i = 0; i < results.size(); i++) {
            float expected = 2 * (i % OPERATIONS) + 1;
            assertThat(results.get(i).get(20, TimeUnit.SECONDS).tensor().item()).isEqualTo(expected);
        }
        List<CompletableFuture<Void>> closed = engines.stream()
                .map(engine -> CompletableFuture.runAsync(engine::close, task -> new Thread(task).start()))
                .toList();
        for (CompletableFuture<Void> one : closed) {
            one.get(20, TimeUnit.SECONDS);
        }
    }
}
