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
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The containers of the files for Kubernetes, with the names, variables, users and shared memory that a cluster gives them, on a
 * network of podman's. This test is the cluster's controllers. Needs root, hence long.
 */
@Tag("long")
@Timeout(900)
class PodsIT {
    @TempDir
    private static Path folder;

    private static Podman podman;

    @BeforeAll
    static void buildTheImage() throws IOException {
        podman = Podman.withImage(folder);
    }

    @AfterAll
    static void removeTheImage() {
        if (podman != null) {
            podman.close();
        }
    }

    @AfterEach
    void removePods() {
        podman.clear();
    }

    /** The name of a pod resolves when the pod is there: here half a minute after the others ask for it. */
    @Test
    void theIndexedJobTrainsOnFourPodsThoughTheFirstComesLast() throws Exception {
        PodFile pod = PodFile.of("indexed-job.yaml", "Job", "hvd-digits", "template", "spec");
        for (int index = 3; index >= 0; index--) {
            if (index == 0) {
                podman.await("hvd-digits-1", "hvd-digits-0.hvd-digits");
                TimeUnit.SECONDS.sleep(30);
            }
            pod.start(podman, "hvd-digits-" + index, "hvd-digits", "--env", "JOB_COMPLETION_INDEX=" + index);
        }

        for (int index = 0; index < 4; index++) {
            String name = "hvd-digits-" + index;
            assertThat(podman.exitCode(name)).as(podman.logs(name)).isZero();
        }
        assertThat(podman.logs("hvd-digits-0"))
                .contains("RESULT example=digits ranks=4", "[hvd-digits-0, hvd-digits-1, hvd-digits-2, hvd-digits-3]")
                .contains("back end tcp (10.");
    }

    /** What podFailurePolicy has Kubernetes do: when a node is drained, all pods save and end with 75, and come again. */
    @Test
    void anIndexedJobWhosePodIsDrainedGoesOnFromItsCheckpoint() throws Exception {
        Path saved = Files.createDirectory(folder.resolve("saved"));
        Files.setPosixFilePermissions(saved, PosixFilePermissions.fromString("rwxrwxrwx"));
        PodFile pod = PodFile.of("indexed-job.yaml", "Job", "hvd-digits", "template", "spec")
                .training("digits", "--epochs", "6", "--checkpoint-dir", "/saved", "--sigterm-exit-code", "75");

        startIndexed(pod, saved);
        podman.await("hvd-digits-0", "epoch 1/6");
        podman.stop("hvd-digits-2");
        assertThat(indexedExitCodes()).as(podman.logs("hvd-digits-0")).containsOnly(75);
        podman.clear();
        startIndexed(pod, saved);

        assertThat(indexedExitCodes()).as(podman.logs("hvd-digits-0")).containsOnly(0);
        assertThat(podman.logs("hvd-digits-0"))
                .contains("going on from /saved/step-", "RESULT example=digits ranks=4 epochs=6");
    }

    private static void startIndexed(PodFile pod, Path saved) {
        for (int index = 0; index < 4; index++) {
            String[] more = {"--env", "JOB_COMPLETION_INDEX=" + index, "--volume", saved + ":/saved"};
            pod.start(podman, "hvd-digits-" + index, "hvd-digits", more);
        }
    }

    private static List<Integer> indexedExitCodes() {
        return IntStream.range(0, 4)
                .mapToObj(index -> podman.exitCode("hvd-digits-" + index))
                .toList();
    }

    /** Trainer gives each pod the number of pods and the name of the first one; their controller gives it its index. */
    @Test
    void aTrainJobTrainsOnItsFourPods() throws Exception {
        PodFile pod = PodFile.of(
                        "training-runtime.yaml",
                        "ClusterTrainingRuntime",
                        "hvd",
                        "template/spec/replicatedJobs/0/template/spec/template/spec".split("/"))
                .training("digits", "--epochs", "5");
        for (int index = 0; index < 4; index++) {
            List<String> variables = new ArrayList<>(List.of("--env", "JOB_COMPLETION_INDEX=" + index));
            variables.addAll(List.of("--env", "PET_NNODES=4", "--env", "PET_NPROC_PER_NODE=1"));
            variables.addAll(List.of("--env", "PET_NODE_RANK=" + index, "--env", "PET_MASTER_PORT=29500"));
            variables.addAll(List.of("--env", "PET_MASTER_ADDR=hvd-digits-node-0-0.hvd-digits"));
            pod.start(podman, "hvd-digits-node-0-" + index, "hvd-digits", variables.toArray(String[]::new));
        }

        for (int index = 0; index < 4; index++) {
            String name = "hvd-digits-node-0-" + index;
            assertThat(podman.exitCode(name)).as(podman.logs(name)).isZero();
        }
        assertThat(podman.logs("hvd-digits-node-0-0")).contains("RESULT example=digits ranks=4 epochs=5");
    }

    @Test
    void anElasticJobGoesOnWhenAPodIsKilledAndTakesInTheOneThatReplacesIt() throws Exception {
        PodFile worker = PodFile.of("elastic-job.yaml", "Job", "hvd-elastic", "template", "spec");
        PodFile.of("elastic-job.yaml", "Job", "hvd-elastic-coordinator", "template", "spec")
                .start(podman, "hvd-elastic-coordinator", List.of("hvd-elastic"), List.of());
        for (int pod = 0; pod < 3; pod++) {
            worker.start(podman, "hvd-elastic-" + pod, List.of(), List.of());
        }
        podman.await("hvd-elastic-coordinator", "generation \\d+ begins with 3 ranks");
        podman.kill("hvd-elastic-1");
        podman.await("hvd-elastic-coordinator", "begins with 2 ranks");
        worker.start(podman, "hvd-elastic-3", List.of(), List.of());

        for (String name : List.of("hvd-elastic-coordinator", "hvd-elastic-0", "hvd-elastic-2", "hvd-elastic-3")) {
            assertThat(podman.exitCode(name)).as(podman.logs(name)).isZero();
        }
        assertThat(podman.exitCode("hvd-elastic-1")).isEqualTo(137);
        assertThat(podman.logs("hvd-elastic-coordinator"))
                .containsPattern("\\(worker \\d on hvd-elastic-1\\) is lost")
                .contains("worker 3 on hvd-elastic-3 has come");
        String logs = podman.logs("hvd-elastic-0") + podman.logs("hvd-elastic-2") + podman.logs("hvd-elastic-3");
        assertThat(logs).containsOnlyOnce("RESULT example=elastic-mnist ranks=3");
        assertThat(Pattern.compile("rank \\d of 3: weights (crc32 \\w+)")
                        .matcher(logs)
                        .results()
                        .map(found -> found.group(1)))
                .as("weights of all ranks")
                .hasSize(3)
                .containsOnly(logs.replaceAll("(?s).*: weights (crc32 \\w+).*", "$1"));
    }

    /** The launcher cannot resolve its own name, which a pod without an entry in /etc/hosts cannot either. */
    @Test
    void theMpiJobTrainsOnAllItsWorkersByTheHostfileAndTheKeyOfTheOperator() throws Exception {
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

        assertThat(podman.exitCode("hvd-mnist-launcher"))
                .as(podman.logs("hvd-mnist-launcher"))
                .isZero();
        assertThat(podman.logs("hvd-mnist-launcher"))
                .contains("RESULT example=digits ranks=4 epochs=2", "back end mpi (Open MPI")
                .contains("[hvd-mnist-worker-0, hvd-mnist-worker-1, hvd-mnist-worker-2, hvd-mnist-worker-3]");
    }

    private static PodFile mpi(String role) throws IOException {
        return PodFile.of("mpijob.yaml", "MPIJob", "hvd-mnist", "mpiReplicaSpecs", role, "template", "spec");
    }
}
