package io.hvd.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.backend.local.LocalProvider;
import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Backend;
import io.hvd.spi.Collectives;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.Reduction;
import io.hvd.spi.Topology;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a back end says it cannot do fails as an operation, before it is called, and the job goes on. */
@Timeout(20)
class EngineRefusalTest {
    @Test
    void anOperationThatTheBackEndRefusesFailsAloneAndIsNeverCalled() {
        List<String> jobFailures = new ArrayList<>();
        PickyBackend backend =
                new PickyBackend(LocalProvider.team(1, 4096).get(0).open(HvdConfig.from(Map.of()), List.of()));
        Engine engine = new Engine(backend, 1 << 20, 0, jobFailures::add);
        Thread communication = new Thread(engine::run, "hvd-engine-test");
        communication.start();

        Tensor integers = Tensor.of(1, 2, 3);
        CompletableFuture<Tensor> refused =
                engine.submit(sum("counts", integers, 0.5), integers, Tensor.of(0, 0, 0), true);
        assertThatThrownBy(refused::join)
                .isInstanceOf(CompletionException.class)
                .hasMessageContainingAll("allreduce", "counts", "picky", "int32", "scaled by 0.5")
                .cause()
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED));

        Tensor floats = Tensor.of(1f, 2f);
        Tensor sum = engine.submit(sum("gradient", floats, 1), floats, Tensor.of(0f, 0f), true)
                .join();
        assertThat(sum.toFloatArray()).containsExactly(1f, 2f);
        assertThat(backend.reduced).containsExactly(DType.FLOAT32);
        engine.close();
        assertThat(jobFailures).isEmpty();
    }

    private static Request sum(String name, Tensor tensor, double postscale) {
        return Request.allreduce(name, tensor, ReduceOp.SUM, tensor.dtype(), 1, postscale);
    }

    /** A local back end that scales no integers. */
    private static final class PickyBackend implements Backend, Collectives {
        private final Backend local;
        private final List<DType> reduced = new ArrayList<>();

        PickyBackend(Backend local) {
            this.local = local;
        }

        @Override
        public Optional<String> refusesAllreduce(Device.Kind device, DType dtype, Reduction how) {
            return dtype.isFloating() || how.postscale() == 1
                    ? Optional.empty()
                    : Optional.of(dtype + " cannot be scaled by " + how.postscale());
        }

        @Override
        public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
            inputs.forEach(input -> reduced.add(input.dtype()));
            local.collectives().allreduce(inputs, outputs, how);
        }

        @Override
        public void allgather(Tensor input, Tensor output, long[] elements) {
            local.collectives().allgather(input, output, elements);
        }

        @Override
        public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
            local.collectives().broadcast(inputs, outputs, root);
        }

        @Override
        public String description() {
            return "picky";
        }

        @Override
        public Topology topology() {
            return local.topology();
        }

        @Override
        public ControlChannel control() {
            return local.control();
        }

        @Override
        public Collectives collectives() {
            return this;
        }

        @Override
        public List<byte[]> exchange(byte[] mine) {
            return local.exchange(mine);
        }

        @Override
        public void abort(int exitCode, String reason) {
            local.abort(exitCode, reason);
        }

        @Override
        public void close() {
            local.close();
        }
    }
}
