package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
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
    void compile() throws IOException {
        Assumptions.assumeTrue(
                Job.run(List.of("sh", "-c", "command -v cc"), Map.of()).exitCode() == 0, "there is no cc");
        Job compiler = Job.run(
                List.of("cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program(), SOURCE.toString(), "-ldl"),
                Map.of());
        assertThat(compiler.exitCode()).as(compiler.output()).isZero();
        Path stubs = folder.resolve("libcudart.so.13");
        Job libraries = Job.run(
                List.of(
                        "cc",
                        "-shared",
                        "-fPIC",
                        "-I" + STUBS,
                        "-o",
                        stubs.toString(),
                        STUBS.resolve("stubs.c").toString()),
                Map.of());
        assertThat(libraries.exitCode()).as(libraries.output()).isZero();
        Files.createSymbolicLink(folder.resolve("libnccl.so.2"), stubs.getFileName());
    }

    private Job calls(String ranks, String... variable) {
        return calls(List.of(ranks), variable);
    }

    private Job calls(List<String> words, String... variable) {
        Map<String, String> environment = new HashMap<>(Map.of("LD_LIBRARY_PATH", folder.toString()));
        for (int i = 0; i < variable.length; i += 2) {
            environment.put(variable[i], variable[i + 1]);
        }
        List<String> command = new ArrayList<>(List.of(program()));
        command.addAll(words);
        return Job.run(command, environment);
    }

    private String program() {
        return folder.resolve("calls").toString();
    }

    @Test
    void itPrintsATimeForEachSizeThatHvdIsTimedWith() {
        Job job = calls("1");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("bytes:microseconds"))
                .singleElement()
                .asString()
                .matches("bytes:microseconds( \\d+:\\d+\\.\\d){25}")
                .contains(" 8:", " 16:", " 134217728:");
    }

    @Test
    void ranksThatOutnumberTheGpusShareThemWithAHostIdEach() {
        Job job = calls("3", "STUB_GPUS", "2");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("made by rank 0"))
                .containsExactlyInAnyOrder(
                        "rank 0 of 3, device 0, host rank0, id made by rank 0",
                        "rank 1 of 3, device 1, host rank1, id made by rank 0",
                        "rank 2 of 3, device 0, host rank2, id made by rank 0");
        assertThat(job.lines("bytes:microseconds")).hasSize(1);
    }

    @Test
    void ranksThatNcclItselfLetsShareAGpuKeepTheirHost() {
        Job job = calls("2", "NCCL_MULTI_RANK_GPU_ENABLE", "1");

        assertThat(job.lines("device 0, host -, id made by rank 0")).hasSize(2);
    }

    @Test
    void ranksThatNcclItselfLetsShareAGpuCanBeHostsOfTheirOwnToo() {
        Job job = calls(List.of("2", "8", "host-ids"), "NCCL_MULTI_RANK_GPU_ENABLE", "1");

        assertThat(job.lines("made by rank 0"))
                .containsExactlyInAnyOrder(
                        "rank 0 of 2, device 0, host rank0, id made by rank 0",
                        "rank 1 of 2, device 0, host rank1, id made by rank 0");
    }

    @Test
    void itStopsAtTheLastSizeThatItIsGiven() {
        assertThat(calls(List.of("1", "65536")).lines("bytes:microseconds"))
                .singleElement()
                .asString()
                .matches("bytes:microseconds( \\d+:\\d+\\.\\d){14}")
                .contains(" 65536:");
        assertThat(calls(List.of("1", "4")).output()).contains("LAST_BYTES is from 8 to 1 GiB");
        assertThat(calls(List.of("1", "8", "hosts")).exitCode()).isEqualTo(1);
    }

    @Test
    void aLibraryThatIsMissingIsNamed() throws IOException {
        Files.delete(folder.resolve("libnccl.so.2"));

        Job job = calls("1");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("libnccl.so.2");
    }

    @Test
    void withEnoughGpusNobodySharesOne() {
        Job job = calls("2", "STUB_GPUS", "2");

        assertThat(job.lines("host -, id made by rank 0")).hasSize(2);
    }

    @Test
    void aRankThatFailsEndsTheOthersThatWaitForIt() {
        Job job = calls("2", "STUB_FAILS", "1");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("calls: ncclCommInitRank failed: stub of NCCL");
        assertThat(job.lines("bytes:microseconds")).isEmpty();
    }
}
