package io.hvd.launch.hosts;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.mpi.MpiVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class HostSourceTest {

    private static final MpiVersion V4 =
            MpiVersion.parse("mpirun (Open MPI) 4.1.4").orElseThrow();
    private static final MpiVersion V5 =
            MpiVersion.parse("mpirun (Open MPI) 5.0.7").orElseThrow();

    @TempDir
    private Path folder;

    private static Optional<HostSource> source(MpiVersion version, Map<String, String> environment, String... words) {
        return HostSource.of(version, List.of(words), environment);
    }

    private String file(String text) throws IOException {
        return Files.writeString(Files.createTempFile(folder, "hosts", ""), text)
                .toString();
    }

    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void aPipeIsLeftToMpirun() throws IOException, InterruptedException {
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        assertThat(source(V4, Map.of(), "--hostfile", pipe.toString()))
                .contains(new HostSource("--mpi-args --hostfile " + pipe, List.of()));
    }

    /** As seen with 4.1.4 and 5.0.7: without the number of the job mpirun starts all ranks here. */
    @Test
    void aResourceManagersFileCountsOnlyBesideWhatMpirunLooksForBeforeItReadsIt() throws IOException {
        String lines = file("a\na\nb\n");
        Map<String, String> pbs = new HashMap<>(Map.of("PBS_NODEFILE", lines));
        Map<String, String> lsf = new HashMap<>(Map.of("LSB_DJOB_HOSTFILE", lines));
        for (MpiVersion version : List.of(V4, V5)) {
            assertThat(source(version, pbs)).isEmpty();
            assertThat(source(version, lsf)).isEmpty();
        }

        pbs.putAll(Map.of("PBS_ENVIRONMENT", "PBS_BATCH", "PBS_JOBID", "1"));
        lsf.put("LSB_JOBID", "1");

        for (MpiVersion version : List.of(V4, V5)) {
            assertThat(source(version, pbs))
                    .contains(new HostSource(
                            "PBS_NODEFILE=" + lines, List.of(new HostSlots("a", 2), new HostSlots("b", 1))));
            assertThat(source(version, lsf).map(HostSource::name)).contains("LSB_DJOB_HOSTFILE=" + lines);
        }
    }

    @Test
    void gridEngineGivesAHostItsSlotsAsTheSecondWord() throws IOException {
        String lines = file("n1 4 all.q@n1 UNDEFINED\nn2 2 all.q@n2 UNDEFINED\n");

        assertThat(source(V4, Map.of("PE_HOSTFILE", lines, "SGE_ROOT", "/sge", "ARC", "lx", "JOB_ID", "4"))
                        .map(HostSource::hosts))
                .contains(List.of(new HostSlots("n1", 4), new HostSlots("n2", 2)));
        assertThat(source(V4, Map.of("PE_HOSTFILE", lines))).isEmpty();
    }

    @Test
    void aDefaultHostfileIsReadInAllFormsThatOpenMpiTakes() throws IOException {
        String lines = file("# ours\n\na slots=2 max_slots=4\nada@b slots = 3\nc:5\nd\n");

        assertThat(source(V4, Map.of("OMPI_MCA_orte_default_hostfile", lines)).map(HostSource::hosts))
                .contains(List.of(
                        new HostSlots("a", 2), new HostSlots("b", 3), new HostSlots("c", 5), new HostSlots("d", 0)));
    }

    @Test
    void oneThatIsSetToNothingNamesNoHosts() {
        assertThat(source(V4, Map.of("OMPI_MCA_orte_default_hostfile", ""))).isEmpty();
        assertThat(source(V5, Map.of("PRTE_MCA_prte_default_hostfile", ""))).isEmpty();
        assertThat(source(MpiVersion.NONE, Map.of("PRTE_MCA_prte_default_hostfile", "")))
                .isEmpty();
    }

    @Test
    void theFileOfAnInstallationCountsUnderTheNameOfItsVersion() throws IOException {
        Path etc = Files.createDirectories(folder.resolve("mpi/etc"));
        Map<String, String> environment =
                Map.of("HVD_OPENMPI_HOME", folder.resolve("mpi").toString());
        Files.writeString(etc.resolve("openmpi-default-hostfile"), "# nothing yet\n");
        assertThat(source(V4, environment)).isEmpty();

        Files.writeString(etc.resolve("openmpi-default-hostfile"), "n1 slots=1\n");

        assertThat(source(V4, environment).map(HostSource::name))
                .contains(etc.resolve("openmpi-default-hostfile").toString());
        assertThat(source(V5, environment)).isEmpty();
        Files.writeString(etc.resolve("prte-default-hostfile"), "n1 slots=1\n");
        assertThat(source(V5, environment)).isPresent();
        assertThat(source(MpiVersion.NONE, environment)).isPresent();
    }

    @Test
    void whatTheUserTellsMpirunCountsMoreThanTheRest() throws IOException {
        String lines = file("a slots=1\nb slots=1\n");
        Map<String, String> environment = Map.of("OMPI_MCA_orte_default_hostfile", "/elsewhere");

        assertThat(source(V4, environment, "--hostfile", lines).map(HostSource::hosts))
                .contains(List.of(new HostSlots("a", 1), new HostSlots("b", 1)));
        assertThat(source(V4, environment, "--mca", "orte_default_hostfile", lines)
                        .map(HostSource::hosts))
                .contains(List.of(new HostSlots("a", 1), new HostSlots("b", 1)));
        assertThat(source(V5, Map.of(), "-host", "a:2,b").map(HostSource::hosts))
                .contains(List.of(new HostSlots("a", 2), new HostSlots("b", 1)));
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "4, 1", "5, 2", "6, 2", "7, 3"})
    void theFewestHostsAreThoseWithTheMostSlots(int ranks, int fewest) {
        var hosts = List.of(new HostSlots("a", 1), new HostSlots("b", 4), new HostSlots("c", 2));

        assertThat(HostSlots.fewest(hosts, ranks)).isEqualTo(fewest);
        assertThat(HostSlots.fewest(List.of(new HostSlots("a", 0), new HostSlots("b", 1)), ranks))
                .as("nothing is known of a's slots")
                .isEqualTo(1);
        assertThat(HostSlots.fewest(List.of(), ranks)).isEqualTo(1);
    }
}
