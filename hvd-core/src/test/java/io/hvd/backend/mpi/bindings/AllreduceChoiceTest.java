package io.hvd.backend.mpi.bindings;

import static io.hvd.cost.Algorithm.MPI;
import static io.hvd.cost.Algorithm.RING;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.config.HvdConfig.AllreduceAlgorithm;
import io.hvd.cost.CalibrationHost;
import io.hvd.cost.CostModel;
import io.hvd.cost.Fit;
import io.hvd.cost.JobShape;
import io.hvd.cost.Sample;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class AllreduceChoiceTest {
    private static final AllreduceChoice BETWEEN_HOSTS = choice(AllreduceAlgorithm.AUTO, 2);

    private static AllreduceChoice choice(AllreduceAlgorithm asked, int hosts) {
        return new AllreduceChoice(asked, hosts, Optional.empty());
    }

    @Test
    void betweenHostsLargeAllreducesGoRoundTheRingAndSmallOnesDoNot() {
        assertThat(BETWEEN_HOSTS.of(2, 0)).isEqualTo(MPI);
        assertThat(BETWEEN_HOSTS.of(3, 64 << 10)).isEqualTo(MPI);
        assertThat(BETWEEN_HOSTS.of(2, 64 << 20)).isEqualTo(RING);
        assertThat(BETWEEN_HOSTS.of(3, 1L << 40)).isEqualTo(RING);
    }

    @Test
    void onOneHostItIsLeftToMpi() {
        assertThat(choice(AllreduceAlgorithm.AUTO, 1).of(2, 64 << 20)).isEqualTo(MPI);
    }

    @Test
    void whatIsAskedForIsDoneWhateverTheSizeUnlessThereIsNobodyElse() {
        assertThat(choice(AllreduceAlgorithm.RING, 1).of(2, 0)).isEqualTo(RING);
        assertThat(choice(AllreduceAlgorithm.RING, 1).of(1, 64 << 20)).isEqualTo(MPI);
        assertThat(choice(AllreduceAlgorithm.MPI, 2).of(3, 64 << 20)).isEqualTo(MPI);
    }

    @Test
    void aCostModelThatKnowsBothWaysDecidesAndOneThatDoesNotIsNotAsked() {
        List<Sample> samples = new ArrayList<>();
        JobShape two = new JobShape(2, 2);
        for (long bytes = 1 << 10; bytes <= 64 << 20; bytes *= 4) {
            samples.add(new Sample(MPI, two, bytes, 100e-6 + bytes * 20e-9));
            samples.add(new Sample(RING, two, bytes, 20e-3 + bytes * 8e-9));
        }
        AllreduceChoice measured = modelled(samples);
        assertThat(measured.of(2, 512 << 10))
                .as("without the model this goes round")
                .isEqualTo(MPI);
        assertThat(measured.of(2, 64 << 20)).isEqualTo(RING);
        samples.removeIf(sample -> sample.algorithm() == RING);
        assertThat(modelled(samples).of(2, 512 << 10)).isEqualTo(RING);
    }

    private static AllreduceChoice modelled(List<Sample> samples) {
        CostModel model = Fit.of(new CalibrationHost("made up", 4, false, 1e-10), samples);
        return new AllreduceChoice(AllreduceAlgorithm.AUTO, 2, Optional.of(model));
    }

    @Test
    void theSettingIsReadAndAutoWithoutOne() {
        assertThat(HvdConfig.from(Map.of()).allreduceAlgorithm()).isEqualTo(AllreduceAlgorithm.AUTO);
        assertThat(HvdConfig.from(Map.of("HVD_ALLREDUCE_ALGORITHM", "ring")).allreduceAlgorithm())
                .isEqualTo(AllreduceAlgorithm.RING);
    }
}
