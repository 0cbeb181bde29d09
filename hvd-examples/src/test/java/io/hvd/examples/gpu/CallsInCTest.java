package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** calls.c over stubs of CUDA and NCCL: processes, the unique id, GPUs and output; no times. Skipped without a C compiler. */
class CallsInCTest {
    private static final Path STUBS = Path.of("src", "test", "c");
    private static final Path SOURCE = Path.of("..", "mpirun-scripts", "gpu", "calls.c");

    @TempDir
    Path folder;

    @BeforeEach
    void compile() {
        Assumptions.assumeTrue(
                Job.run(List.of("sh", "-c", "command -v cc"), Map.of()).exitCode() == 0, "there is no cc");
        Job compiler = Job.run(
                List.of(
                        "cc",
                        "-O2",
                        "-Wall",
                        "-Wextra",
                        "-Werror",
                        "-I" + STUBS,
                        "-o",
                        program(),
                        SOURCE.toString(),
                        STUBS.resolve("stubs.c").toString()),
                Map.of());
        assertThat(compiler.exitCode()).as(compiler.output()).isZero();
    }

    private String program() {
        return folder.resolve("calls").toString();
    }

    @Test
    void itPrintsATimeForEachSizeThatHvdIsTimedWith() {
        Job job = Job.run(List.of(program(), "1"), Map.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("bytes:microseconds"))
                .singleElement()
                .asString()
                .matches("bytes:microseconds( \\d+:\\d+\\.\\d){14}")
                .contains(" 4:", " 16:", " 268435456:");
    }

    @Test
    void ranksThatOutnumberTheGpusShareThemWithAHostIdEach() {
        Job job = Job.run(List.of(program(), "3"), Map.of("STUB_GPUS", "2"));

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("made by rank 0"))
                .containsExactlyInAnyOrder(
                        "rank 0 of 3, device 0, host rank0, id made by rank 0",
                        "rank 1 of 3, device 1, host rank1, id made by rank 0",
                        "rank 2 of 3, device 0, host rank2, id made by rank 0");
        assertThat(job.lines("bytes:microseconds")).hasSize(1);
    }

    @Test
    void withEnoughGpusNobodySharesOne() {
        Job job = Job.run(List.of(program(), "2"), Map.of("STUB_GPUS", "2"));

        assertThat(job.lines("host -, id made by rank 0")).hasSize(2);
    }

    @Test
    void aRankThatFailsEndsTheOthersThatWaitForIt() {
        Job job = Job.run(List.of(program(), "2"), Map.of("STUB_FAILS", "1"));

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("calls: ncclCommInitRank failed: stub of NCCL");
        assertThat(job.lines("bytes:microseconds")).isEmpty();
    }
}
