package io.hvd.backend.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.backend.local.LocalProvider;
import io.hvd.config.HvdConfig;
import io.hvd.spi.Backend;
import io.hvd.spi.Collectives;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The order of NCCL's calls, with a fake that writes them down: it proves the state machine, never a device. */
@Timeout(20)
class NcclBackendTest {
    private static final Device GPU = Device.cuda(1);

    private final RecordingNccl nccl = new RecordingNccl();
    private Backend backend;
    private Collectives collectives;

    @BeforeEach
    void open() {
        List<Gpu> gpus = List.of(new Gpu(0, "H100", "0000:65:00.0"), new Gpu(1, "H100", "0000:b3:00.0"));
        NcclProvider provider = new NcclProvider(
                LocalProvider.team(1, 4096).get(0), (topology, config) -> GPU, () -> new NcclPresence(nccl, gpus, ""));
        backend = provider.open(HvdConfig.from(Map.of("HVD_BACKEND", "nccl")), List.of());
        collectives = backend.collectives();
    }

    @Test
    void openingSelectsTheAssignedGpuBeforeAnythingIsBoundToIt() {
        assertThat(nccl.takeCalls())
                .containsExactly("select 1", "unique id", "join [4, 2] as 0 of 1", "create stream", "create event");
        assertThat(backend.description()).isEqualTo("nccl 2.18.5 over local (one rank)");
    }

    @Test
    void aBatchWaitsForTheUsersStreamsOnceEachGoesAsOneGroupAndIsWaitedForOnTheHost() {
        nccl.takeCalls();
        List<Tensor> batch = List.of(onGpu(0xA000, 0x7, 3), onGpu(0xB000, 0x7, 5), onGpu(0xC000, 0x8, 1));
        collectives.allreduce(batch, batch, new Reduction(ReduceOp.MAX, DType.FLOAT32, 1, 1));
        assertThat(nccl.takeCalls())
                .containsExactly(
                        "record e0 on 7",
                        "hold 50 until e0",
                        "record e0 on 8",
                        "hold 50 until e0",
                        "group start",
                        "allreduce MAX 3 float32 a000 to a000 on 50",
                        "allreduce MAX 5 float32 b000 to b000 on 50",
                        "allreduce MAX 1 float32 c000 to c000 on 50",
                        "group end",
                        "wait for 50");
    }

    @Test
    void anAverageIsASumWithTheProductOfBothScalesThatIsTakenApartAfterTheDeviceHasFinished() {
        nccl.takeCalls();
        collectives.allreduce(
                List.of(onGpu(0xA000, 0, 3)),
                List.of(onGpu(0xB000, 0, 3)),
                new Reduction(ReduceOp.SUM, DType.FLOAT32, 2, 0.25));
        assertThat(nccl.takeCalls())
                .containsExactly(
                        "create sum of float32 times 0.5",
                        "record e0 on 0",
                        "hold 50 until e0",
                        "group start",
                        "allreduce scaled sum 3 float32 a000 to b000 on 50",
                        "group end",
                        "wait for 50",
                        "destroy scaled sum");
    }

    @Test
    void aBroadcastGoesTensorByTensorInOneGroupAndLeavesOutEmptyOnes() {
        nccl.takeCalls();
        List<Tensor> batch = List.of(onGpu(0xA000, 0, 3), onGpu(0, 0, 0), onGpu(0xC000, 0, 2));
        collectives.broadcast(batch, batch, 0);
        assertThat(nccl.takeCalls())
                .filteredOn(call -> !call.startsWith("record") && !call.startsWith("hold"))
                .containsExactly(
                        "group start",
                        "broadcast from rank 0 3 float32 a000 to a000 on 50",
                        "broadcast from rank 0 2 float32 c000 to c000 on 50",
                        "group end",
                        "wait for 50");
    }

    @Test
    void tensorsOnTheCpuTakeTheHostsWay() {
        nccl.takeCalls();
        Tensor tensor = Tensor.of(1f, 2f);
        collectives.allreduce(List.of(tensor), List.of(tensor), new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 0.5));
        collectives.broadcast(List.of(tensor), List.of(tensor), 0);
        collectives.allgather(tensor, Tensor.of(0f, 0f), new long[] {2});
        assertThat(tensor.toFloatArray()).containsExactly(0.5f, 1f);
        assertThat(nccl.takeCalls()).isEmpty();
    }

    @Test
    void closingLeavesTheCommunicatorBeforeItsStreamIsDestroyed() {
        nccl.takeCalls();
        backend.close();
        assertThat(nccl.takeCalls()).containsExactly("leave c0", "destroy event e0", "destroy stream 50");
    }

    @Test
    void aTensorOnAnotherGpuThanTheCommunicatorsIsNamedBeforeAnythingIsQueued() {
        nccl.takeCalls();
        List<Tensor> stray = List.of(Tensor.onDevice(0xA000, Device.cuda(0), 0, DType.FLOAT32, Shape.of(3)));
        assertThatThrownBy(() -> collectives.broadcast(stray, stray, 0)).hasMessageContainingAll("cuda:0", "cuda:1");
        assertThat(nccl.takeCalls()).isEmpty();
    }

    @Test
    void whatNcclCannotDoIsRefusedBeforehandWithItsReason() {
        assertThat(refusal(DType.FLOAT16, DType.FLOAT16, ReduceOp.SUM, 0.25)).isEmpty();
        assertThat(refusal(DType.INT32, DType.INT32, ReduceOp.SUM, 1)).isEmpty();
        assertThat(refusal(DType.UINT8, DType.UINT8, ReduceOp.PRODUCT, 1)).isEmpty();
        assertThat(refusal(DType.INT32, DType.INT32, ReduceOp.SUM, 0.25)).contains("int32", "0.25", "truncated");
        assertThat(refusal(DType.INT16, DType.INT16, ReduceOp.SUM, 1)).contains("NCCL", "int16");
        assertThat(refusal(DType.UINT16, DType.UINT16, ReduceOp.MAX, 1)).contains("NCCL", "uint16");
        assertThat(refusal(DType.BOOL, DType.BOOL, ReduceOp.SUM, 1)).isEmpty();
        assertThat(refusal(DType.FLOAT32, DType.FLOAT32, ReduceOp.MAX, 2)).contains("MAX", "2.0");
        assertThat(refusal(DType.FLOAT32, DType.FLOAT16, ReduceOp.SUM, 1))
                .contains("compression on the GPU is not there yet", "float32 as float16");
        assertThat(refuses(OpKind.ALLGATHER, Device.Kind.CUDA))
                .hasValueSatisfying(reason -> assertThat(reason).contains("allgather on the GPU is not there yet"));
        assertThat(refuses(OpKind.BROADCAST, Device.Kind.CUDA)).isEmpty();
        assertThat(refuses(OpKind.ALLGATHER, Device.Kind.CPU)).isEmpty();
    }

    private String refusal(DType dtype, DType wire, ReduceOp op, double postscale) {
        return collectives
                .refuses(OpKind.ALLREDUCE, Device.Kind.CUDA, dtype, new Reduction(op, wire, 1, postscale))
                .orElse("");
    }

    private static Tensor onGpu(long address, long stream, int elements) {
        return Tensor.onDevice(address, GPU, stream, DType.FLOAT32, Shape.of(elements));
    }

    private java.util.Optional<String> refuses(OpKind kind, Device.Kind device) {
        return collectives.refuses(kind, device, DType.FLOAT32, new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1));
    }
}
