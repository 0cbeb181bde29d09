package io.hvd.backend.mpi.bindings;

import static io.hvd.backend.mpi.bindings.AllreduceChoice.Algorithm.MPI;
import static io.hvd.backend.mpi.bindings.AllreduceChoice.Algorithm.RING;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.config.HvdConfig.AllreduceAlgorithm;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AllreduceChoiceTest {
    private static final AllreduceChoice BETWEEN_HOSTS = new AllreduceChoice(AllreduceAlgorithm.AUTO, true);

    @Test
    void betweenHostsLargeAllreducesGoRoundTheRingAndSmallOnesDoNot() {
        for (boolean isNative : List.of(true, false)) {
            assertThat(BETWEEN_HOSTS.of(2, 0, isNative)).isEqualTo(MPI);
            assertThat(BETWEEN_HOSTS.of(3, 64 << 10, isNative)).isEqualTo(MPI);
            assertThat(BETWEEN_HOSTS.of(2, 64 << 20, isNative)).isEqualTo(RING);
            assertThat(BETWEEN_HOSTS.of(3, 1L << 40, isNative)).isEqualTo(RING);
        }
    }

    @Test
    void onOneHostItIsLeftToMpi() {
        assertThat(new AllreduceChoice(AllreduceAlgorithm.AUTO, false).of(2, 64 << 20, true))
                .isEqualTo(MPI);
    }

    @Test
    void whatIsAskedForIsDoneWhateverTheSizeUnlessThereIsNobodyElse() {
        AllreduceChoice ring = new AllreduceChoice(AllreduceAlgorithm.RING, false);
        AllreduceChoice mpi = new AllreduceChoice(AllreduceAlgorithm.MPI, true);

        assertThat(ring.of(2, 0, true)).isEqualTo(RING);
        assertThat(ring.of(1, 64 << 20, true)).isEqualTo(MPI);
        assertThat(mpi.of(3, 64 << 20, false)).isEqualTo(MPI);
    }

    @Test
    void theSettingIsReadAndAutoWithoutOne() {
        assertThat(HvdConfig.from(Map.of()).allreduceAlgorithm()).isEqualTo(AllreduceAlgorithm.AUTO);
        assertThat(HvdConfig.from(Map.of("HVD_ALLREDUCE_ALGORITHM", "ring")).allreduceAlgorithm())
                .isEqualTo(AllreduceAlgorithm.RING);
    }
}
