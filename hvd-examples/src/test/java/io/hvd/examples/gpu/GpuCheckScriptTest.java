package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What gpu-check.sh makes of the programs' answers, on a made-up machine; it shows nothing of a real GPU. */
class GpuCheckScriptTest {
    @TempDir
    Path folder;

    private MadeUpBundle machine;

    @BeforeEach
    void makeUp() throws IOException {
        machine = new MadeUpBundle(folder);
    }

    @Test
    void everyCheckThatPassesIsInTheRecordAndTheExitCodeIsZero() throws IOException {
        Path record = folder.resolve("record.md");

        Job job = machine.check("--out", record.toString());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("RESULT ").get(0)).startsWith("RESULT gpu_check=pass passed=7 failed=0 not_run=0 ");
        assertThat(Files.readString(record))
                .contains("# GPU record of ", ": pass\n")
                .contains("| GPU 0 | Made Up 9000, 0000:01:00.0 |", "| hvd | made-up-1 |")
                .contains(
                        "| pass | 1 rank: rank 0 has device 0; 2 ranks for 1 GPU(s): [HVD-107] more ranks than GPUs; 2 ranks that share it: rank 0 has device 0 |")
                .contains("| pass | 1 rank: allreduce; fused; 2 ranks: allreduce; fused |")
                .contains("(ratios 0.91 and 0.85), our own copy 12; reaches the aim of 0.80 |")
                .contains("1 rank, fp32: ranks=1 loss=0.1 accuracy=0.95; 1 rank, fp16: ")
                .contains("| pass | G4, 1 rank: 0 errors; G2, 2 ranks: 0 errors |")
                .contains("""
                        | bytes | hvd, 1 rank | C, 1 rank | hvd, 2 ranks | C, 2 ranks |
                        |---|---|---|---|---|
                        | 4 | 11.0 | 7.0 | 11.0 | 7.0 |
                        | 16 | 12.0 | 8.0 | 12.0 | 8.0 |
                        """)
                .contains("    $ horovodrun -np 1 java -jar ")
                .contains("    CHECK G2.fused pass 20 tensors\n");
    }

    @Test
    void ranksThatOutnumberTheGpusShareThemEachAsAHostOfItsOwnToNccl() throws IOException {
        machine.check("--only", "G2,G3");

        assertThat(machine.calls()).hasSize(4);
        assertThat(machine.calls().get(0)).startsWith("-np 1 env HVD_BACKEND=nccl java -jar ");
        assertThat(machine.calls().get(1))
                .startsWith(
                        "-np 2 env HVD_BACKEND=nccl HVD_SHARE_GPU=1 bash -c NCCL_HOSTID=rank$OMPI_COMM_WORLD_RANK ");
        assertThat(machine.calls().get(2)).startsWith("-np 1 java -jar ");
        assertThat(machine.calls().get(3)).startsWith("-np 2 env HVD_SHARE_GPU=1 java -jar ");
    }

    @Test
    void oneGpuIsAlsoSharedAndMemcheckSeesSmallTensorsOnly() throws IOException {
        machine.check("--only", "G1,G6");

        assertThat(machine.calls().get(2))
                .startsWith("-np 2 env HVD_SHARE_GPU=1 java ")
                .endsWith(" --only G1");
        assertThat(machine.calls().subList(3, 5))
                .allMatch(call -> call.contains("compute-sanitizer --tool memcheck"))
                .allMatch(call -> call.contains(" gpu-check --quick --only "));
    }

    @Test
    void whereThereAreEnoughGpusEveryRankHasItsOwn() throws IOException {
        machine.answer("versions", "NCCL   2.28.3\nGPU 0  A\nGPU 1  B\nGPU 2  C\n");

        machine.check("--only", "G1,G2", "--ranks", "3");

        assertThat(machine.calls()).noneMatch(call -> call.contains("HVD_SHARE_GPU"));
        assertThat(machine.calls().stream().map(call -> call.substring(0, 5)))
                .containsExactly("-np 1", "-np 3", "-np 4", "-np 1", "-np 3");
    }

    @Test
    void ncclIsHiddenByLeavingOutTheNativesOfItsBindingAndNothingElse() throws IOException {
        machine.check("--only", "G3");

        assertThat(machine.jarsWithoutNccl()).containsExactly("cuda-1.jar", "jcuda-1.jar");
    }

    /** java takes the jars that train.jar names from beside the file that it has opened, not from beside a link to it. */
    @Test
    void whatIsHiddenIsFoundByNoRealJava() throws IOException {
        Job job = machine.startsRealJava().check("--only", "G3", "--ranks", "1");

        assertThat(job.output()).contains("| pass | 1 rank: NCCL's natives: null, JCuda: jar:file:");
    }

    @Test
    void aCheckThatFailsOrHangsDoesNotStopTheOthers() throws IOException {
        machine.answer("G1", "CHECK G1 fail rank 0 has device 1\n")
                .code("G1", 1)
                .hangs("G2");

        Job job = machine.check("--limit", "2", "--only", "G1,G2,G4");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output())
                .contains("gpu_check=fail passed=1 failed=2 not_run=0 ")
                .contains("| fail | 1 rank: G1 rank 0 has device 1; 2 ranks for 1 GPU(s): ")
                .contains("| fail | 1 rank: no end within 2 s; 2 ranks: no end within 2 s |")
                .contains("| G4 | kernels: bits, share of a copy on the device | pass |");
    }

    @ParameterizedTest
    @CsvSource({
        "G4, CHECK G4 fail 3 elements differ, 1, G4 3 elements differ",
        "G4, CHECK G4 pass bits equal, 1, 'all lines pass, but exit code 1'",
        "G4, Killed, 137, exit code 137 and no line CHECK G4; last words: Killed",
        "memcheck-G4, CHECK G4 pass bits equal, 0, 0 of 1 summaries of memcheck",
        "memcheck-G4, '========= ERROR SUMMARY: 2 errors', 86, ERROR SUMMARY: 2 errors",
        "memcheck-G4, '========= ERROR SUMMARY: 0 errors', 1, 'no finding, but G4 did not pass under it'",
        "G5, RESULT example=cuda-mlp loss=0.1, 0, exit code 0; last words: RESULT",
        "G5, oops, 1, exit code 1; last words: oops",
        "G7, CHECK G7 fail the device stopped, 1, G7 the device stopped"
    })
    void whatIsNotAPassIsAFailureWithItsReason(String answer, String text, int code, String reason) throws IOException {
        machine.answer(answer, text + "\n").code(answer, code);

        Job job = machine.check("--only", answer.startsWith("memcheck") ? "G6" : answer, "--ranks", "1");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.lines("| fail |")).singleElement().asString().contains(reason);
    }

    @Test
    void aCopyBelowTheAimIsSaidToBeButTheBitsDecide() throws IOException {
        machine.answer("G4", "CHECK G4 pass bits equal (ratios 0.91 and 0.79), our own copy 1\n");

        Job job = machine.check("--only", "G4");

        assertThat(job.exitCode()).isZero();
        assertThat(job.output()).contains("BELOW the aim of 0.80");
    }

    @Test
    void withoutNcclTheHostsWayIsCheckedAndTheRestSaysWhyNot() throws IOException {
        machine.answer("versions", "NCCL   missing: no libnccl.so.2\nGPU 0  Made Up 9000\n");

        Job job = machine.check();

        assertThat(job.exitCode()).isEqualTo(2);
        assertThat(job.output())
                .contains("| G2 | collectives by NCCL | not-run | no NCCL: no libnccl.so.2 |")
                .contains("| not-run | G4, 1 rank: 0 errors; G2: no NCCL: no libnccl.so.2 |")
                .contains("C: not-run, no NCCL: no libnccl.so.2 |")
                .contains("gpu_check=not-run passed=5 failed=0 not_run=2 ");
        assertThat(machine.calls()).noneMatch(call -> call.contains("HVD_BACKEND=nccl"));
    }

    @Test
    void whatIsNotInstalledIsNotRunWithItsName() throws IOException {
        machine.remove("compute-sanitizer");
        machine.answer("examples", "examples:\n  digits     numbers\n").answer("compiler-error", "x.c: error: no\n");

        Job job = machine.check("--only", "G5,G6,G7");

        assertThat(job.output())
                .contains("| not-run | this train.jar has no example cuda-mlp |")
                .contains("| not-run | compute-sanitizer is neither on the PATH nor in /usr/local/cuda*/bin |")
                .contains("did not compile calls.c: x.c: error: no |")
                .contains("gpu_check=not-run passed=1 failed=0 not_run=2 ");
    }

    @Test
    void aTrainerWhoseAccuraciesDifferFails() throws IOException {
        Files.writeString(folder.resolve("bundle/bin/horovodrun"), """
                #!/bin/bash
                case "$*" in *--fp16*) accuracy=0.94 ;; *) accuracy=0.98 ;; esac
                echo "RESULT example=cuda-mlp accuracy=$accuracy"
                """);

        Job job = machine.check("--only", "G5");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("; the accuracies differ by more than 0.03 |");
    }

    /** As many runs as you like that have learned nothing agree with each other. */
    @Test
    void aTrainerThatLearnsNothingFailsHoweverWellItsRunsAgree() throws IOException {
        machine.answer("G5", "RESULT example=cuda-mlp ranks=1 loss=2.3 accuracy=0.10\n");

        Job job = machine.check("--only", "G5");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("; an accuracy is below 0.93 |");
    }

    @Test
    void aTableOfVersionsThatCannotBeReadFailsAllChecks() throws IOException {
        machine.answer("versions", "");

        Job job = machine.check();

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.lines("| fail | the table of versions could not be read (exit code 0)"))
                .hasSize(7);
    }

    /** As on a machine whose libcuda.so.1 is a test's own. */
    @Test
    void gpusWithoutAKernelModuleMakeNoRecordOfAGpu() throws IOException {
        machine.answer("versions", "NVIDIA driver  missing: no /proc\nNCCL   2.28.3\nGPU 0  Made Up 9000\n");

        Job job = machine.check("--only", "G4");

        assertThat(job.output()).contains("\n\n**Not a record of a GPU**: ");
        assertThat(job.lines("RESULT ").get(0)).endsWith(" driver=stand-in");
    }

    /** Names of the lines are not words alone; one that is overlooked would be a pass. */
    @Test
    void everyLineOfACheckCounts() throws IOException {
        machine.answer("G3", "CHECK G3.allreduce pass all types\nCHECK G3.out-of-place fail 1 differs\n");

        assertThat(machine.check("--only", "G3", "--ranks", "1").output())
                .contains("| fail | 1 rank: G3.out-of-place 1 differs |");
    }

    @ParameterizedTest
    @CsvSource({
        "--only G9, G9",
        "--ranks many, many",
        "--limit 0, --limit",
        "--out /nowhere/record, /nowhere/record",
        "--fast, --fast",
        "--only, needs a value"
    })
    void mistakesAreNamedBeforeAnythingRuns(String flags, String word) {
        Job job = machine.check(flags.split(" "));

        assertThat(job.exitCode()).isEqualTo(2);
        assertThat(job.output()).contains(word).doesNotContain("RESULT");
        assertThat(folder.resolve("answers/calls")).doesNotExist();
    }

    @Test
    void aFolderThatIsNeitherBundleNorCheckoutIsRefused() {
        Job job = Job.run(
                List.of(Path.of("..", "mpirun-scripts", "gpu-check.sh").toString(), folder.toString()),
                java.util.Map.of());

        assertThat(job.exitCode()).isEqualTo(2);
        assertThat(job.output()).contains("neither a bundle nor a checkout that is built");
    }
}
