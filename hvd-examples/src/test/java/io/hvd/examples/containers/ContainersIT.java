package io.hvd.examples.containers;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The image of mpirun-scripts/k8s/Dockerfile, built and run by podman and buildah, which need root, hence long. */
@Tag("long")
@Timeout(900)
class ContainersIT {
    private static final String[] DIGITS = {"java", "-jar", "/opt/hvd/train.jar", "digits"};

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
    void removeContainers() {
        podman.clear();
    }

    @Test
    void theImageTrainsByItselfOnTwoRanksUnderMpirun() {
        Job job = podman.run(List.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("RESULT example=digits ranks=2")).as(job.output()).hasSize(1);
        assertThat(job.output()).contains("over mpi (Open MPI").doesNotContain("unpacking");
    }

    @Test
    void aUserOtherThanRootTrainsOnAFileSystemThatNobodyCanWriteAndUnpacksNothing() {
        List<String> flags = List.of("--read-only", "--read-only-tmpfs=false", "--tmpfs", "/tmp:size=16m");
        String training = String.join(" ", DIGITS) + " --max-steps 4 && id -u && touch /home/hvd/file;"
                + " find /tmp /home/hvd -type f -size +100k";

        Job job = podman.run(flags, "sh", "-c", training);

        assertThat(job.lines("RESULT example=digits ranks=1")).as(job.output()).hasSize(1);
        assertThat(job.output().lines().toList())
                .contains("1000")
                .last()
                .asString()
                .contains("Read-only file system");
        assertThat(job.output()).doesNotContain("unpacking");
    }

    /** What changes with every build of hvd's lies in the last layers, which are small. */
    @Test
    void aNewBuildOfHvdChangesSmallLayersAlone() {
        List<Long> newestFirst = podman.layers();

        assertThat(newestFirst.stream().mapToLong(Long::longValue).max().orElseThrow())
                .as("LibTorch")
                .isGreaterThan(300_000_000);
        int libTorch =
                newestFirst.indexOf(newestFirst.stream().max(Long::compare).orElseThrow());
        assertThat(newestFirst.subList(0, libTorch).stream()
                        .mapToLong(Long::longValue)
                        .sum())
                .as("bytes behind LibTorch in %s", newestFirst)
                .isLessThan(50_000_000);
    }

    @Test
    void sigtermEndsATrainingOrSavesItAndTheExitCodeSaysWhich() throws Exception {
        podman.start("plain", List.of(), with("--epochs", "10000"));
        podman.start("saves", List.of(), with("--epochs", "10000", "--checkpoint-dir", "/tmp/saved"));
        podman.await("plain", "epoch 1/");
        podman.await("saves", "epoch 1/");

        podman.stop("plain");
        podman.stop("saves");

        assertThat(podman.exitCode("plain")).as(podman.logs("plain")).isEqualTo(143);
        assertThat(podman.exitCode("saves")).as(podman.logs("saves")).isZero();
        assertThat(podman.logs("saves"))
                .containsPattern("SIGTERM: ending after step \\d+, whose checkpoint is written");
    }

    @Test
    void sigtermEndsHorovodrunWithItsRanks() throws Exception {
        podman.start("job", List.of(), "horovodrun", "-np", "2", DIGITS[0], DIGITS[1], DIGITS[2], DIGITS[3]);
        podman.await("job", "epoch 1/");

        podman.stop("job");

        assertThat(podman.exitCode("job")).as(podman.logs("job")).isEqualTo(143);
    }

    private static String[] with(String... flags) {
        return Stream.concat(Stream.of(DIGITS), Stream.of(flags)).toArray(String[]::new);
    }
}
