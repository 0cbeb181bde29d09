package io.hvd.launch.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.mpi.MpiVersion.Flavour;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class MpiVersionTest {

    @Test
    void openMpiIsKnownByWhatItPrints() {
        assertThat(MpiVersion.parse("mpirun (Open MPI) 4.1.4\n\nReport bugs to somewhere\n"))
                .contains(new MpiVersion(Flavour.OPEN_MPI, 4, 1, "Open MPI 4.1.4"));
        assertThat(MpiVersion.parse("mpirun (Open MPI) 5.0.7rc2\n"))
                .contains(new MpiVersion(Flavour.OPEN_MPI, 5, 0, "Open MPI 5.0.7rc2"));
        assertThat(MpiVersion.parse("mpirun (OpenRTE) 2.1.1\n"))
                .contains(new MpiVersion(Flavour.OPEN_MPI, 2, 1, "Open MPI 2.1.1"));
    }

    @Test
    void aVersionThatIsNoNumberIsNotKnown() {
        assertThat(MpiVersion.parse("mpirun (Open MPI) 99999999999.1.4\n")).isEmpty();
    }

    @Test
    void otherMpisAreKnownByWhatTheyPrint() {
        assertThat(MpiVersion.parse("HYDRA build details:\n    Version:                                 4.0.2\n"))
                .contains(new MpiVersion(Flavour.HYDRA, 4, 0, "MPICH 4.0.2"));
        assertThat(MpiVersion.parse("Intel(R) MPI Library for Linux* OS, Version 2021.10 Build 20230619 (id: c2e)\n"))
                .contains(new MpiVersion(Flavour.INTEL, 2021, 10, "Intel MPI 2021.10"));
        assertThat(MpiVersion.parse("mpirun (IBM Spectrum MPI) 10.4.0.3rtm4\n"))
                .contains(new MpiVersion(Flavour.SPECTRUM, 10, 4, "IBM Spectrum MPI 10.4.0.3rtm4"));
    }

    @ParameterizedTest
    @CsvSource({"17, true", "21, true", "22, false", "25, false"})
    void mpichNeedsAJavaWithForeignFunctions(int java, boolean refused) {
        MpiVersion mpich = mpich("4.0.2");

        assertThat(mpich.obstacle(OptionalInt.of(java)).isPresent()).isEqualTo(refused);
        assertThat(mpich.obstacle(OptionalInt.empty())).isEmpty();
        assertThat(openMpi("4.1.4").obstacle(OptionalInt.of(java))).isEmpty();
    }

    @Test
    void anOpenMpiBeforeFourIsRefusedAndOneThatNobodyHasTriedIsDoubted() {
        assertThat(openMpi("3.1.3").obstacle(OptionalInt.empty()))
                .get()
                .asString()
                .contains("before 4", "hang");
        assertThat(openMpi("3.1.3").doubt()).isEmpty();
        for (String untried : new String[] {"4.0.7", "7.0.0"}) {
            assertThat(openMpi(untried).obstacle(OptionalInt.empty())).isEmpty();
            assertThat(openMpi(untried).doubt()).get().asString().contains("Open MPI " + untried, "4.1 to 6.0");
        }
        for (String tried : new String[] {"4.1.4", "5.0.7", "6.0.0rc2"}) {
            assertThat(openMpi(tried).obstacle(OptionalInt.empty())).isEmpty();
            assertThat(openMpi(tried).doubt()).isEmpty();
        }
        for (String tried : new String[] {"4.0.2", "5.0.2"}) {
            assertThat(mpich(tried).doubt()).isEmpty();
        }
        assertThat(mpich("6.0.0").doubt()).get().asString().contains("MPICH 6.0.0", "MPICH 4 and 5");
    }

    private static MpiVersion mpich(String number) {
        return MpiVersion.parse("HYDRA build details:\n    Version:  " + number + "\n")
                .orElseThrow();
    }

    private static MpiVersion openMpi(String number) {
        return MpiVersion.parse("mpirun (Open MPI) " + number + "\n").orElseThrow();
    }

    @Test
    void whatSaysNothingKnownIsNone() {
        assertThat(MpiVersion.parse("slurmstepd 23.02")).isEmpty();
        assertThat(MpiVersion.parse("")).isEmpty();
    }
}
