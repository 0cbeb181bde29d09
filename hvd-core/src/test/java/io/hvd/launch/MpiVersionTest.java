package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class MpiVersionTest {

    @Test
    void openMpiIsKnownByWhatItPrints() {
        assertThat(MpiVersion.parse("mpirun (Open MPI) 4.1.4\n\nReport bugs to somewhere\n"))
                .contains(new MpiVersion(4, 1, "Open MPI 4.1.4"));
        assertThat(MpiVersion.parse("mpirun (Open MPI) 5.0.7rc2\n"))
                .contains(new MpiVersion(5, 0, "Open MPI 5.0.7rc2"));
        assertThat(MpiVersion.parse("mpirun (OpenRTE) 2.1.1\n")).contains(new MpiVersion(2, 1, "Open MPI 2.1.1"));
    }

    @Test
    void otherMpisAreNotTakenForIt() {
        assertThat(MpiVersion.parse("HYDRA build details:\n    Version:  4.0.2\n"))
                .isEmpty();
        assertThat(MpiVersion.parse("")).isEmpty();
    }
}
