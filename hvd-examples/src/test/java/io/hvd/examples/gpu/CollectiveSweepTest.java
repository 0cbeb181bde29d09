package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.Collections;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class CollectiveSweepTest {
    private static final int RANKS = 3;
    private static final int BLOCK = 5;

    /** The expected values are those of hvd's collectives on the host; one that is spoilt counts. */
    @ParameterizedTest
    @EnumSource(SweepCollective.class)
    void aResultIsRightAndEachElementThatIsSpoiltIsCounted(SweepCollective collective) throws Exception {
        int least = Collections.min(Hvd.spawn(RANKS, hvd -> {
            float[] values = new float[collective.inputs(BLOCK, RANKS)];
            for (int at = 0; at < values.length; at++) {
                values[at] = SweepCollective.value(hvd.rank(), at);
            }
            Tensor tensor = Tensor.wrap(values, DType.FLOAT32, Shape.of(values.length));
            float[] found = collective.call(hvd, "sweep", tensor).toFloatArray();
            assertThat(wrong(collective, hvd.rank(), found)).isZero();
            float[] shorter = Arrays.copyOf(found, found.length - 2);
            assertThat(wrong(collective, hvd.rank(), shorter)).isEqualTo(2);
            found[0]++;
            found[found.length - 1] = Float.NaN;
            assertThat(wrong(collective, hvd.rank(), found)).isEqualTo(2);
            return found.length;
        }));

        assertThat(least).isEqualTo(collective.outputs(BLOCK, RANKS));
    }

    private static long wrong(SweepCollective collective, int rank, float[] found) {
        return CollectiveSweep.wrong(collective, rank, RANKS, BLOCK, FloatBuffer.wrap(found));
    }

    /** As the page on performance of nccl-tests has them. */
    @ParameterizedTest
    @CsvSource({
        "ALLREDUCE, 1, 0",
        "ALLREDUCE, 4, 1.5",
        "ALLGATHER, 4, 0.75",
        "REDUCESCATTER, 4, 0.75",
        "ALLTOALL, 4, 0.75",
        "BROADCAST, 1, 1",
        "BROADCAST, 4, 1"
    })
    void busBandwidthIsTheBandwidthOfTheAlgorithmTimesItsFactor(SweepCollective collective, int ranks, double factor) {
        SweepRow row = new SweepRow(collective, ranks, 1 << 20, 100, 0);

        assertThat(row.algBandwidth()).isCloseTo(10.48576, within(1e-9));
        assertThat(row.busBandwidth()).isCloseTo(10.48576 * factor, within(1e-9));
    }

    @Test
    void theSizeIsThatOfTheLargestBuffer() {
        // 64 bytes are 16 floats: with 3 ranks a block of those that are divided has 5 of them.
        assertThat(SweepCollective.ALLREDUCE.block(64, 3)).isEqualTo(16);
        assertThat(SweepCollective.ALLGATHER.block(64, 3)).isEqualTo(5);
        assertThat(SweepCollective.ALLGATHER.bytes(5, 3)).isEqualTo(60);
        assertThat(SweepCollective.ALLGATHER.inputs(5, 3)).isEqualTo(5);
        assertThat(SweepCollective.REDUCESCATTER.inputs(5, 3)).isEqualTo(15);
        assertThat(SweepCollective.ALLTOALL.block(8, 3)).isZero();
    }

    @Test
    void aRowHasTheColumnsOfNcclTests() {
        assertThat(SweepRow.HEADER.lines().findFirst().orElseThrow().trim().split(" +"))
                .containsExactly("collective", "size", "time", "algbw", "busbw", "#wrong");
        assertThat(new SweepRow(SweepCollective.ALLTOALL, 2, 1 << 27, 1000, 7)
                        .toString()
                        .split(" +"))
                .containsExactly("alltoall", "134217728", "1000.00", "134.22", "67.11", "7");
    }
}
