package io.hvd.examples.containers;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The launcher and the workers of mpijob.yaml as podman's containers, with the files and variables that the MPI operator gives
 * them, with the Open MPI of Debian 12 and with that of Debian 13. Needs root, hence long.
 */
@Tag("long")
@Timeout(1800)
class MpiJobIT {
    @TempDir
    private Path folder;

    /** The launcher cannot resolve its own name, which a pod without an entry in /etc/hosts cannot either. */
    @ParameterizedTest
    @CsvSource({"bookworm, 17, 4.1", "trixie, 25, 5.0"})
    void theJobTrainsOnAllItsWorkersByTheHostfileAndTheKeyOfTheOperator(String debian, int java, String openMpi)
            throws Exception {
        try (Podman podman = Podman.withImage(folder, debian, java)) {
            train(podman);

            assertThat(podman.exitCode("hvd-mnist-launcher"))
                    .as(podman.logs("hvd-mnist-launcher"))
                    .isZero();
            assertThat(podman.logs("hvd-mnist-launcher"))
                    .contains("RESULT example=digits ranks=4 epochs=2", "back end mpi (Open MPI v" + openMpi)
                    .contains("[hvd-mnist-worker-0, hvd-mnist-worker-1, hvd-mnist-worker-2, hvd-mnist-worker-3]");
        }
    }

    private void train(Podman podman) throws Exception {
        Path keys = Files.createDirectory(folder.resolve("keys"));
        Job made = Job.run(List.of("ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f", keys + "/id_rsa"), Map.of());
        assertThat(made.exitCode()).as(made.output()).isZero();
        Files.copy(keys.resolve("id_rsa.pub"), keys.resolve("authorized_keys"));
        Files.setPosixFilePermissions(keys.resolve("id_rsa"), PosixFilePermissions.fromString("rw-r--r--"));
        String hosts = IntStream.range(0, 4)
                .mapToObj(index -> "hvd-mnist-worker-" + index + ".hvd-mnist.default.svc slots=1\n")
                .collect(Collectors.joining());
        Path hostfile = Files.writeString(folder.resolve("hostfile"), hosts);
        String[] mounted = {"--volume", keys + ":/home/hvd/.ssh:ro"};
        for (int index = 0; index < 4; index++) {
            mpi("Worker").start(podman, "hvd-mnist-worker-" + index, "hvd-mnist", mounted);
        }

        List<String> more = new ArrayList<>(List.of(mounted));
        more.addAll(List.of("--volume", hostfile + ":/etc/mpi/hostfile:ro", "--no-hosts"));
        more.addAll(List.of("--env", "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile"));
        more.addAll(List.of("--env", "OMPI_MCA_orte_keep_fqdn_hostnames=true"));
        more.addAll(List.of("--env", "OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10"));
        // Of this machine: each of the pods takes it to have the processors for itself.
        more.addAll(List.of("--env", "OMPI_MCA_mpi_yield_when_idle=1"));
        mpi("Launcher").training("digits", "--epochs", "2").start(podman, "hvd-mnist-launcher", List.of(), more);
    }

    private static PodFile mpi(String role) throws IOException {
        return PodFile.of("mpijob.yaml", "MPIJob", "hvd-mnist", "mpiReplicaSpecs", role, "template", "spec");
    }
}
