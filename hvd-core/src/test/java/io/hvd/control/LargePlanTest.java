package io.hvd.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.EngineSettings;
import io.hvd.config.HvdConfig;
import io.hvd.engine.Engine;
import io.hvd.engine.message.Request;
import io.hvd.engine.submission.Ops;
import io.hvd.engine.submission.Outcome;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.Backend;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.testing.Recomposed;
import io.hvd.trace.FlightRecorder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A plan larger than the sockets' buffers must reach the others before rank 0 turns to the data plane. */
@Timeout(60)
class LargePlanTest {
    private static final int OPERATIONS = 12_000;
    private static final String LONG_NAME = "a.module.deep.inside.another.module.".repeat(40);

    /** Data between threads, control over sockets. */
    private static final class Sockets extends Recomposed.Control {
        private final Backend data;
        private final SocketControl sockets;

        Sockets(Backend data, SocketControl sockets) {
            super(data);
            this.data = data;
            this.sockets = sockets;
        }

        @Override
        protected ControlChannel first() {
            return sockets;
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
            Backend data = team.get(rank).open(config, List.of());
            Backend backend = Recomposed.of(
                    data, data.bootstrap(), new Sockets(data, star.get(rank)), new Recomposed.Planes(data));
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
