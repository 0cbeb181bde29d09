package io.hvd.examples.containers;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
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

    /** As the job controller does with a backoffLimit: the others end as one is lost, and new pods take the places of all. */
    @Test
    void mnistOnFourPodsOfWhichOneIsKilledGoesOnFromItsCheckpointOnPodsThatReplaceThem() throws Exception {
        Path saved = Files.createDirectory(folder.resolve("mnist"));
        Files.setPosixFilePermissions(saved, PosixFilePermissions.fromString("rwxrwxrwx"));
        PodFile pod = PodFile.of("indexed-job.yaml", "Job", "hvd-digits", "template", "spec")
                .training("mnist", "--epochs", "1", "--checkpoint-dir", "/saved", "--checkpoint-every", "10");

        startIndexed(pod, saved);
        while (!hasCheckpoint(saved)) {
            TimeUnit.MILLISECONDS.sleep(100);
        }
        podman.kill("hvd-digits-2");
        assertThat(indexedExitCodes()).as(podman.logs("hvd-digits-0")).containsExactly(1, 1, 137, 1);
        assertThat(podman.logs("hvd-digits-0")).contains("hvd-digits-2").doesNotContain("RESULT");
        podman.clear();
        startIndexed(pod, saved);

        assertThat(indexedExitCodes()).as(podman.logs("hvd-digits-0")).containsOnly(0);
        assertThat(podman.logs("hvd-digits-0"))
                .contains("going on from /saved/step-", "RESULT example=mnist ranks=4 epochs=1");
    }

    private static boolean hasCheckpoint(Path folder) throws IOException {
        try (var files = Files.newDirectoryStream(folder, "step-*.safetensors")) {
            return files.iterator().hasNext();
        }
    }

    /** As the page says of its exit code: Java and LibTorch need more than 100 MiB. */
    @Test
    void aPodIsKilledThatNeedsMoreMemoryThanItsLimit() throws Exception {
        String more = "--env JOB_COMPLETION_INDEX=0 --env HOROVOD_SIZE=1 --env HVD_RENDEZVOUS=small.hvd-digits:29400"
                + " --memory 100m --memory-swap 100m";
        PodFile.of("indexed-job.yaml", "Job", "hvd-digits", "template", "spec")
                .start(podman, "small", "hvd-digits", more.split(" "));

        assertThat(podman.exitCode("small")).as(podman.logs("small")).isEqualTo(137);
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
}
