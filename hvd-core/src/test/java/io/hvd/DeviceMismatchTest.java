package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tensors on devices that the back end does not reach; the made-up addresses are never touched. */
@Timeout(30)
class DeviceMismatchTest {
    private static final long MADE_UP_ADDRESS = 0x7f00_dead_0000L;

    @Test
    void aTensorOnTheCpuHereAndOnAGpuThereFailsOnAllRanksWithBothDevicesAndTheirRanks() {
        List<Float> afterwards = Hvd.spawn(2, hvd -> {
            Tensor tensor = hvd.rank() == 0 ? Tensor.of(1f, 2f, 3f) : onGpu(hvd.rank());
            assertThatThrownBy(() -> hvd.allreduceInPlace("weight.grad", tensor, AllreduceOptions.sum()))
                    .isInstanceOf(RankMismatchException.class)
                    .hasMessageContainingAll(
                            "weight.grad",
                            "allreduce",
                            "device",
                            "CPU on ranks {0}",
                            "CUDA (the rank's GPU 0) on ranks {1}");
            return hvd.allreduce("next", Tensor.of(hvd.rank() + 1f), AllreduceOptions.sum())
                    .item();
        });
        assertThat(afterwards).containsExactly(3f, 3f);
    }

    @Test
    void gpuTensorsOnAllRanksOfAHostBackEndFailAsUnsupportedAndTheContextStaysUsable() {
        List<Float> afterwards = Hvd.spawn(2, hvd -> {
            Tensor tensor = onGpu(hvd.rank());
            assertUnsupported(() -> hvd.allreduceInPlace("g", tensor, AllreduceOptions.sum()), "allreduce");
            assertUnsupported(() -> hvd.broadcastInPlace("g", tensor, 0), "broadcast");
            assertUnsupported(() -> hvd.allgather("g", tensor), "allgather");
            return hvd.allreduce("next", Tensor.of(hvd.rank() + 1f), AllreduceOptions.sum())
                    .item();
        });
        assertThat(afterwards).containsExactly(3f, 3f);
    }

    /** Each rank's GPU has another index; to send from one to the other is no mismatch, only beyond this back end. */
    @Test
    void aTensorThatIsSentFromOneRanksGpuToAnothersIsNoMismatch() {
        List<Float> afterwards = Hvd.spawn(2, hvd -> {
            Tensor tensor = onGpu(hvd.rank());
            assertUnsupported(
                    () -> {
                        if (hvd.rank() == 0) {
                            hvd.send(tensor, 1, 7);
                        } else {
                            hvd.receive(tensor, 0, 7);
                        }
                    },
                    hvd.rank() == 0 ? "send" : "receive");
            return hvd.allreduce("next", Tensor.of(hvd.rank() + 1f), AllreduceOptions.sum())
                    .item();
        });
        assertThat(afterwards).containsExactly(3f, 3f);
    }

    @Test
    void anAllreduceOnGpusBesideARankThatHasJoinedIsRefusedLikeAnyOtherThere() {
        List<Float> afterwards = Hvd.spawn(2, hvd -> {
            if (hvd.rank() == 0) {
                assertUnsupported(
                        () -> hvd.allreduceInPlace("weight.grad", onGpu(0), AllreduceOptions.sum()), "allreduce");
            }
            hvd.join();
            return hvd.allreduce("next", Tensor.of(hvd.rank() + 1f), AllreduceOptions.sum())
                    .item();
        });
        assertThat(afterwards).containsExactly(3f, 3f);
    }

    @Test
    void anAllgatherOnGpusBesideARankThatHasJoinedIsRefusedWithItsNumber() {
        List<Float> afterwards = Hvd.spawn(2, hvd -> {
            if (hvd.rank() == 0) {
                assertThatThrownBy(() -> hvd.allgather("rows", onGpu(0)))
                        .isInstanceOf(RankMismatchException.class)
                        .hasMessageContainingAll("rows", "allgather on CUDA", "{1}", "joined", "only allreduce can");
            }
            hvd.join();
            return hvd.allreduce("next", Tensor.of(hvd.rank() + 1f), AllreduceOptions.sum())
                    .item();
        });
        assertThat(afterwards).containsExactly(3f, 3f);
    }

    private static void assertUnsupported(
            org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String operation) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED))
                .hasMessageContainingAll(operation, "local", "CUDA");
    }

    private static Tensor onGpu(int index) {
        return Tensor.onDevice(MADE_UP_ADDRESS, Device.cuda(index), 0, DType.FLOAT32, Shape.of(3));
    }
}
