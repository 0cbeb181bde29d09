package io.hvd.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.engine.submission.Ops;
import io.hvd.engine.submission.Outcome;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.Backend;
import io.hvd.spi.DataPlane;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.testing.Recomposed;
import io.hvd.trace.FlightRecorder;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** What a back end says it cannot do fails as an operation, before it is called, and the job goes on. */
@Timeout(value = 20, threadMode = ThreadMode.SEPARATE_THREAD)
class EngineRefusalTest {
    @Test
    void anOperationThatTheBackEndRefusesFailsAloneAndIsNeverCalled() {
        List<String> jobFailures = new ArrayList<>();
        Backend local = LocalProvider.ofThreads(1, 4096).get(0).open(HvdConfig.from(Map.of()), List.of());
        PickyPlanes planes = new PickyPlanes(local);
        Backend backend = local.with("picky", planes);
        Engine engine =
                new Engine(backend, List.of(), Requests.settings(1 << 20, 0), new FlightRecorder(16), jobFailures::add);
        Thread communication = new Thread(engine::run, "hvd-engine-test");
        communication.start();

        Tensor integers = Tensor.of(1, 2, 3);
        CompletableFuture<Outcome> refused =
                Ops.submit(engine, List.of(0), sum("counts", integers, 0.5), integers, Tensor.of(0, 0, 0), true);
        assertThatThrownBy(refused::join)
                .isInstanceOf(CompletionException.class)
                .hasMessageContainingAll("allreduce", "counts", "picky", "int32", "scaled by 0.5")
                .cause()
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED));

        Tensor floats = Tensor.of(1f, 2f);
        Tensor sum = Ops.submit(engine, List.of(0), sum("gradient", floats, 1), floats, Tensor.of(0f, 0f), true)
                .join()
                .tensor();
        assertThat(sum.toFloatArray()).containsExactly(1f, 2f);
        assertThat(planes.reduced).containsExactly(DType.FLOAT32);
        engine.close();
        assertThat(jobFailures).isEmpty();
    }

    private static Request sum(String name, Tensor tensor, double postscale) {
        return Request.reduction(
                name, OpKind.ALLREDUCE, tensor, new Reduction(ReduceOp.SUM, tensor.dtype(), 1, postscale));
    }

    /** A local back end that scales no integers. */
    private static final class PickyPlanes extends Recomposed.Planes {
        private final Backend local;
        private final List<DType> reduced = new ArrayList<>();

        PickyPlanes(Backend local) {
            super(local);
            this.local = local;
        }

        /** Everything but what the engine asks in this test is left out. */
        private Object answer(Object proxy, Method method, Object[] args) throws Exception {
            switch (method.getName()) {
                case "refuses":
                    return refuses((DType) args[2], (Reduction) args[3]);
                case "allreduce":
                    ((List<?>) args[0]).forEach(input -> reduced.add(((Tensor) input).dtype()));
                    return method.invoke(local.collectives(), args);
                case "report", "completion":
                    return null;
                case "takesVetoes":
                    return false;
                default:
                    throw new AssertionError(method + " is not expected");
            }
        }

        private static Optional<String> refuses(DType dtype, Reduction how) {
            return dtype.isFloating() || how.postscale() == 1
                    ? Optional.empty()
                    : Optional.of(dtype + " cannot be scaled by " + how.postscale());
        }

        @Override
        public DataPlane ofAll() {
            return (DataPlane)
                    Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {DataPlane.class}, this::answer);
        }
    }
}
