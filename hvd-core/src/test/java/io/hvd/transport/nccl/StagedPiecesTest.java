package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.GpuSettings;
import io.hvd.config.HvdConfig;
import io.hvd.cuda.SimulatedGpu;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What goes through the host at a time; with one rank on a simulated GPU. */
@Timeout(60)
class StagedPiecesTest {
    private static final int MIB = 1 << 20;

    /** Else nothing would be copied while the ranks reduce. */
    @Test
    void anAllreduceThatFitsOntoAStageGoesThroughTheHostInPieces() {
        SimulatedGpu simulated = new SimulatedGpu();
        GpuSettings settings = HvdConfig.from(Map.of("HVD_GPU_STAGE_BYTES", String.valueOf(16 * MIB)))
                .gpu();
        try (RankGpu gpu = new RankGpu(simulated.device(), SimulatedRanks.GPU, settings, null)) {
            List<Long> bytes = new ArrayList<>();
            StagedCollectives staged = new StagedCollectives(gpu, alone(bytes));
            float[] values = new float[10 * MIB / 4];
            values[values.length - 1] = 7;
            Tensor tensor = simulated.copyOf(Tensor.of(values), SimulatedRanks.GPU, 0);

            staged.allreduce(List.of(tensor), List.of(tensor), new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 2));

            assertThat(bytes).containsExactly(4L * MIB, 4L * MIB, 2L * MIB);
            Tensor result = simulated.read(gpu.address(tensor), DType.FLOAT32, tensor.shape());
            assertThat(result.toFloatArray()[values.length - 1]).isEqualTo(14);
        }
        assertThat(simulated.failure()).isNull();
    }

    /** The data plane of a single rank, which leaves tensors as they are and notes how long they were. */
    private static DataPlane alone(List<Long> bytes) {
        return (DataPlane) Proxy.newProxyInstance(
                DataPlane.class.getClassLoader(), new Class<?>[] {DataPlane.class}, (proxy, method, arguments) -> {
                    assertThat(method.getName()).isEqualTo("allreduce");
                    ((List<?>) arguments[0]).forEach(tensor -> bytes.add(((Tensor) tensor).bytes()));
                    return null;
                });
    }
}
