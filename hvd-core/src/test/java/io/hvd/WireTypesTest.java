package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.Topology;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.testing.StandardError;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** In which type tensors travel whose compression is asked for. */
@Timeout(30)
class WireTypesTest {
    private static final List<String> ONE_HOST = List.of("a", "a", "a", "a");
    private static final List<String> TWO_HOSTS = List.of("a", "a", "b", "b");
    private static final List<Integer> ALL = List.of(0, 1, 2, 3);
    private static final Tensor FLOATS = Tensor.of(1f);
    private static final Tensor ON_GPU =
            Tensor.onDevice(0x7f00_dead_0000L, Device.cuda(0), 0, DType.FLOAT32, Shape.of(1));

    /** The answer of each of four ranks. */
    private static List<DType> types(List<String> nodes, List<Integer> set, Tensor tensor, Compression asked) {
        return IntStream.range(0, nodes.size())
                .mapToObj(rank -> new WireTypes(Topology.of(rank, nodes, nodes), set).of(tensor, asked))
                .toList();
    }

    @ParameterizedTest
    @EnumSource(names = {"FP16", "BF16"})
    void whatAProgramAsksForIsAppliedOnOneHostToo(Compression asked) {
        DType expected = asked == Compression.FP16 ? DType.FLOAT16 : DType.BFLOAT16;
        assertThat(types(ONE_HOST, ALL, FLOATS, asked)).containsOnly(expected);
        assertThat(types(TWO_HOSTS, ALL, FLOATS, asked)).containsOnly(expected);
        assertThat(types(ONE_HOST, ALL, Tensor.of(1.0), asked)).containsOnly(expected);
        assertThat(types(ONE_HOST, ALL, ON_GPU, asked)).containsOnly(expected);
        assertThat(types(ONE_HOST, ALL, Tensor.of(7), asked)).containsOnly(DType.INT32);
    }

    @Test
    void autoCompressesBetweenHostsOnly() {
        assertThat(types(ONE_HOST, ALL, FLOATS, Compression.AUTO)).containsOnly(DType.FLOAT32);
        assertThat(types(ONE_HOST, ALL, ON_GPU, Compression.AUTO)).containsOnly(DType.FLOAT32);
        assertThat(types(TWO_HOSTS, ALL, FLOATS, Compression.AUTO)).containsOnly(DType.BFLOAT16);
        assertThat(types(TWO_HOSTS, ALL, ON_GPU, Compression.AUTO)).containsOnly(DType.BFLOAT16);
        assertThat(types(TWO_HOSTS, ALL, Tensor.of(7), Compression.AUTO)).containsOnly(DType.INT32);
    }

    @Test
    void whatCountsIsTheProcessSetAndNotTheJob() {
        assertThat(types(TWO_HOSTS, List.of(2, 3), FLOATS, Compression.AUTO)).containsOnly(DType.FLOAT32);
        assertThat(types(TWO_HOSTS, List.of(1, 2), FLOATS, Compression.AUTO)).containsOnly(DType.BFLOAT16);
    }

    /** Nothing has been measured here, so the figures name where they come from. */
    @ParameterizedTest
    @EnumSource(names = {"FP16", "BF16"})
    void thePriceThatTheLogNamesIsThatOfTheBenchmarksMachine(Compression asked) throws Exception {
        String said = StandardError.during(() -> types(ONE_HOST, ALL, FLOATS, asked));
        assertThat(said)
                .contains("Compression." + asked, ": on the machine of docs/records/benchmarks.md large tensors take");
    }

    /** 100,000 is infinite as a float16, and 1 + 2^-12 is one. */
    @Test
    void everyReductionOfAJobFollowsIt() {
        Map<Compression, float[]> results = Map.of(
                Compression.NONE, new float[] {200_000, 2 + 0x1p-11f},
                Compression.AUTO, new float[] {200_000, 2 + 0x1p-11f},
                Compression.FP16, new float[] {Float.POSITIVE_INFINITY, 2});
        results.forEach((asked, expected) -> Hvd.spawn(2, hvd -> {
            AllreduceOptions how = AllreduceOptions.sum().withCompression(asked);
            Tensor floats = Tensor.of(100_000, 1 + 0x1p-12f);
            assertThat(hvd.allreduce("a", floats, how).toFloatArray()).isEqualTo(expected);
            assertThat(hvd.groupedAllreduce("g", List.of(floats), how).get(0).toFloatArray())
                    .isEqualTo(expected);
            assertThat(hvd.reducescatter("r", floats, how).toFloatArray()).containsExactly(expected[hvd.rank()]);
            Tensor reduced = hvd.reduce("root", floats, how, 0);
            if (hvd.rank() == 0) {
                assertThat(reduced.toFloatArray()).isEqualTo(expected);
            }
            return null;
        }));
    }
}
