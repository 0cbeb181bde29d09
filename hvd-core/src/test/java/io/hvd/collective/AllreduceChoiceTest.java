package io.hvd.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.config.MpiSettings.AllreduceAlgorithm;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AllreduceChoiceTest {
    private static final AllreduceChoice BETWEEN_HOSTS = new AllreduceChoice(AllreduceAlgorithm.AUTO, 2);

    @Test
    void betweenHostsLargeAllreducesGoRoundTheRingAndSmallOnesDoNot() {
        assertThat(BETWEEN_HOSTS.usesRing(2, 0)).isFalse();
        assertThat(BETWEEN_HOSTS.usesRing(3, 64 << 10)).isFalse();
        assertThat(BETWEEN_HOSTS.usesRing(2, 64 << 20)).isTrue();
        assertThat(BETWEEN_HOSTS.usesRing(3, 1L << 40)).isTrue();
    }

    /** Each of two ranks of a host reduces its half of 256 KiB, for which MPI_Allreduce takes longer than the wire. */
    @Test
    void theHalvesOf256KibibytesGoRoundTheRing() {
        assertThat(BETWEEN_HOSTS.usesRing(2, 128 << 10)).isTrue();
        assertThat(BETWEEN_HOSTS.usesRing(2, (128 << 10) - 4)).isFalse();
    }

    @Test
    void onOneHostItIsLeftToMpi() {
        assertThat(new AllreduceChoice(AllreduceAlgorithm.AUTO, 1).usesRing(2, 64 << 20))
                .isFalse();
    }

    @Test
    void whatIsAskedForIsDoneWhateverTheSizeUnlessThereIsNobodyElse() {
        assertThat(new AllreduceChoice(AllreduceAlgorithm.RING, 1).usesRing(2, 0))
                .isTrue();
        assertThat(new AllreduceChoice(AllreduceAlgorithm.RING, 1).usesRing(1, 64 << 20))
                .isFalse();
        assertThat(new AllreduceChoice(AllreduceAlgorithm.MPI, 2).usesRing(3, 64 << 20))
                .isFalse();
    }

    @Test
    void theSettingIsReadAndAutoWithoutOne() {
        assertThat(HvdConfig.from(Map.of()).mpi().allreduce()).isEqualTo(AllreduceAlgorithm.AUTO);
        assertThat(HvdConfig.from(Map.of("HVD_ALLREDUCE_ALGORITHM", "ring"))
                        .mpi()
                        .allreduce())
                .isEqualTo(AllreduceAlgorithm.RING);
    }
}
