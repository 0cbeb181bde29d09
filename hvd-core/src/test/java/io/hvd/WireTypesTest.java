package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.Topology;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When a compression that is asked for is left out. */
@Timeout(30)
class WireTypesTest {
    private static final List<String> ONE_HOST = List.of("a", "a", "a", "a");
    private static final List<String> TWO_HOSTS = List.of("a", "a", "b", "b");
    private static final List<Integer> ALL = List.of(0, 1, 2, 3);
    private static final Tensor FLOATS = Tensor.of(1f);
    private static final Tensor ON_GPU =
            Tensor.onDevice(0x7f00_dead_0000L, Device.cuda(0), 0, DType.FLOAT32, Shape.of(1));

    /** The answer of each of four ranks. */
    private static List<DType> types(
            List<String> nodes, List<Integer> set, boolean forced, Tensor tensor, Compression asked) {
        return IntStream.range(0, nodes.size())
                .mapToObj(rank -> new WireTypes(Topology.of(rank, nodes, nodes), set, forced).of(tensor, asked))
                .toList();
    }

    @Test
    void onOneHostFloatsKeepTheirTypeOnAllRanks() {
        assertThat(types(ONE_HOST, ALL, false, FLOATS, Compression.FP16)).containsOnly(DType.FLOAT32);
        assertThat(types(ONE_HOST, ALL, false, FLOATS, Compression.BF16)).containsOnly(DType.FLOAT32);
        assertThat(types(ONE_HOST, ALL, false, Tensor.of(1.0), Compression.FP16))
                .containsOnly(DType.FLOAT64);
    }

    @Test
    void theSettingCompressesThemAllTheSame() {
        assertThat(types(ONE_HOST, ALL, true, FLOATS, Compression.FP16)).containsOnly(DType.FLOAT16);
        assertThat(types(ONE_HOST, ALL, true, FLOATS, Compression.BF16)).containsOnly(DType.BFLOAT16);
        assertThat(types(ONE_HOST, ALL, true, FLOATS, Compression.NONE)).containsOnly(DType.FLOAT32);
    }

    @Test
    void betweenHostsTheyAreCompressed() {
        assertThat(types(TWO_HOSTS, ALL, false, FLOATS, Compression.FP16)).containsOnly(DType.FLOAT16);
        assertThat(types(TWO_HOSTS, ALL, false, Tensor.of(7), Compression.FP16)).containsOnly(DType.INT32);
    }

    @Test
    void whatCountsIsTheProcessSetAndNotTheJob() {
        assertThat(types(TWO_HOSTS, List.of(2, 3), false, FLOATS, Compression.FP16))
                .containsOnly(DType.FLOAT32);
        assertThat(types(TWO_HOSTS, List.of(1, 2), false, FLOATS, Compression.FP16))
                .containsOnly(DType.FLOAT16);
    }

    @Test
    void tensorsOnGpusAreCompressedWhereverTheyAre() {
        assertThat(types(ONE_HOST, ALL, false, ON_GPU, Compression.FP16)).containsOnly(DType.FLOAT16);
        assertThat(types(ONE_HOST, ALL, false, ON_GPU, Compression.BF16)).containsOnly(DType.BFLOAT16);
    }

    /** 100,000 is infinite as a float16, and 1 + 2^-12 is one. */
    @Test
    void everyReductionOfAJobFollowsIt() {
        Map<String, float[]> results = Map.of(
                "0", new float[] {200_000, 2 + 0x1p-11f},
                "1", new float[] {Float.POSITIVE_INFINITY, 2});
        results.forEach((setting, expected) -> {
            Map<String, String> settings = Map.of("HVD_COMPRESS_ON_ONE_HOST", setting);
            LocalRanks.spawn(2, InitOptions.standard(), settings, hvd -> {
                AllreduceOptions fp16 = AllreduceOptions.sum().withCompression(Compression.FP16);
                Tensor floats = Tensor.of(100_000, 1 + 0x1p-12f);
                assertThat(hvd.allreduce("a", floats, fp16).toFloatArray()).isEqualTo(expected);
                assertThat(hvd.groupedAllreduce("g", List.of(floats), fp16)
                                .get(0)
                                .toFloatArray())
                        .isEqualTo(expected);
                assertThat(hvd.reducescatter("r", floats, fp16).toFloatArray()).containsExactly(expected[hvd.rank()]);
                Tensor reduced = hvd.reduce("root", floats, fp16, 0);
                if (hvd.rank() == 0) {
                    assertThat(reduced.toFloatArray()).isEqualTo(expected);
                }
                return null;
            });
        });
    }
}
