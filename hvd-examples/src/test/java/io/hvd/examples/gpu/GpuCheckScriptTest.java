package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.CppCompiler;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

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
        assertThat(job.lines("RESULT ").get(0)).startsWith("RESULT gpu_check=pass passed=9 failed=0 not_run=0 left=0 ");
        assertThat(Files.readString(record))
                .contains("# GPU record of ", ": pass\n")
                .contains("| GPU 0 | Made Up 9000, 0000:01:00.0 |", "| hvd | made-up-1 |")
                .contains(
                        "| pass | 1 rank: rank 0 has device 0; 2 ranks for 1 GPU(s): [HVD-107] more ranks than GPUs; 2 ranks that share it: rank 0 has device 0 |")
                .contains(
                        "| pass | 1 rank: allreduce; fused; 2 ranks that share GPUs by an NCCL_HOSTID each, small tensors:"
                                + " allreduce; fused; 2 ranks that share GPUs by an NCCL_HOSTID each: allreduce; fused;"
                                + " a rank dies in the middle of an allreduce: rank 0 threw after 0.2 s: rank 1 is gone |")
                .contains("| missing parts | none |")
                .contains("Runs with more ranks than GPUs share a GPU. They show whether results are right, and say"
                        + " nothing about speed.")
                .contains("(ratios 0.91 and 0.85), our own copy 12; reaches the aim of 0.80 |")
                .contains("1 rank, fp32: ranks=1 loss=0.1 accuracy=0.95; 1 rank, fp16: ")
                .contains("| pass | G4, 1 rank: 0 errors; G2, 2 ranks: 0 errors |")
                .contains("""
                        | bytes | hvd, 1 rank | C, 1 rank | hvd, 2 ranks on one GPU | C, 2 ranks on one GPU |
                        |---|---|---|---|---|
                        | 8 | 11.00 | 7.0 | 11.00 | 7.0 |
                        | 16 | 12.00 | 8.0 | 12.00 | 8.0 |
                        """)
                .contains("    $ horovodrun -np 1 java -jar ")
                .contains("    CHECK G2.fused pass 20 tensors\n")
                .contains("    alltoall               16     19.00")
                .contains("ranks that share a GPU take turns on it, so that their times say nothing about speed |");
        requireOrderOfTheirWorth();
    }

    /** What is cheap and what the others need comes first. */
    private void requireOrderOfTheirWorth() throws IOException {
        assertThat(machine.calls().stream()
                        .filter(call -> !call.contains("rank-dies"))
                        .map(call -> call.contains("sanitizer")
                                ? "G6"
                                : call.contains("--device") ? "G8" : call.contains("cuda-mlp") ? "G5" : last(call))
                        .distinct())
                .containsExactly("G1", "--more-ranks-than-gpus", "G4", "G2", "G7", "G8", "G5", "G9", "G3", "G6");
    }

    private static String last(String call) {
        return call.substring(call.lastIndexOf(' ') + 1);
    }

    @Test
    void ranksThatOutnumberTheGpusShareThemEachAsAHostOfItsOwnToNccl() throws IOException {
        machine.check("--only", "G2,G3");

        String shared = "-np 2 env HVD_BACKEND=nccl HVD_SHARE_GPU=1 bash -c NCCL_HOSTID=rank$OMPI_COMM_WORLD_RANK ";
        assertThat(machine.calls()).hasSize(7);
        assertThat(machine.calls().get(0)).startsWith("-np 1 env HVD_BACKEND=nccl java -jar ");
        assertThat(machine.calls().get(1)).startsWith(shared).endsWith(" --quick --only G2");
        assertThat(machine.calls().get(2)).startsWith(shared).endsWith(" gpu-check --only G2");
        assertThat(machine.calls().get(3)).startsWith(shared).endsWith(" --rank-dies");
        assertThat(machine.calls().get(4)).startsWith("-np 1 java -jar ");
        assertThat(machine.calls().get(5)).startsWith("-np 2 env HVD_SHARE_GPU=1 java -jar ");
        assertThat(machine.calls().get(6))
                .startsWith("-np 2 env HVD_SHARE_GPU=1 java -jar ")
                .endsWith(" --rank-dies");
    }

    @Test
    @Tag("long")
    void newNcclIsAskedForEachWayOfSharingAndTheFirstThatPassesServesTheRestAndComesFirst() throws IOException {
        machine.answer("versions", "NCCL   2.30.7, /opt/libnccl.so.2\nGPU 0  Made Up 9000\n");

        Job job = machine.check("--only", "G2,G7");

        String multiRank =
                "-np 2 env HVD_BACKEND=nccl HVD_SHARE_GPU=1 NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_NVLS_ENABLE=0 java ";
        assertThat(machine.calls().get(1)).startsWith(multiRank).endsWith(" --quick --only G2");
        assertThat(machine.calls().get(2)).startsWith(multiRank).endsWith(" gpu-check --only G2");
        assertThat(machine.calls().get(3)).startsWith(multiRank).endsWith(" --rank-dies");
        assertThat(machine.calls().get(4)).contains(" bash -c NCCL_HOSTID=").endsWith(" --quick --only G2");
        assertThat(machine.calls().get(5))
                .startsWith(multiRank.replace("java ", "bash -c NCCL_HOSTID=rank$OMPI_COMM_WORLD_RANK "))
                .endsWith(" --quick --only G2");
        assertThat(machine.calls().get(7)).startsWith(multiRank).endsWith(" --end 8M --only G7");
        assertThat(job.output()).contains("env NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_NVLS_ENABLE=0 ");
    }

    @Test
    void aWayOfSharingThatNcclRefusesIsInTheRecordAndNotUsedAgainInAnotherCallEither() throws IOException {
        machine.answer("versions", "NCCL   2.30.7, /opt/libnccl.so.2\nGPU 0  Made Up 9000\n")
                .answer("G2-by-multi-rank", "CHECK G2 fail ncclCommInitRank failed\n")
                .code("G2-by-multi-rank", 1)
                .answer("G2-by-both", "CHECK G2 fail ncclCommInitRank failed again\n");
        Path record = folder.resolve("record.md");

        assertThat(machine.check("--only", "G2", "--out", record.toString()).exitCode())
                .isZero();
        machine.forgetCalls();
        machine.check("--only", "G7", "--out", record.toString());

        assertThat(Files.readString(record))
                .contains("; not used: 2 ranks that share GPUs by NCCL_MULTI_RANK_GPU_ENABLE=1, small tensors: G2"
                        + " ncclCommInitRank failed; 2 ranks that share GPUs by an NCCL_HOSTID each: allreduce; fused;")
                .contains("; not used: 2 ranks that share GPUs by NCCL_MULTI_RANK_GPU_ENABLE=1"
                        + " and an NCCL_HOSTID each, small tensors: G2 ncclCommInitRank failed again |");
        assertThat(machine.calls().get(1)).contains("bash -c NCCL_HOSTID=").endsWith(" --only G7");
    }

    @Test
    @Tag("long")
    void aLaterWayThatHangsLeavesTheCheckAsTheFirstWayHasIt() throws IOException {
        machine.answer("versions", "NCCL   2.30.7, /opt/libnccl.so.2\nGPU 0  Made Up 9000\n")
                .answer("G2-by-host-id", "")
                .hangs("G2-by-host-id");

        Job job = machine.check("--only", "G2", "--check-limit", "30");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output())
                .contains(
                        "not used: 2 ranks that share GPUs by an NCCL_HOSTID each, small tensors: no end within 4 s |")
                .contains("and an NCCL_HOSTID each, small tensors: allreduce; fused;");
    }

    @Test
    void wrongResultsFailInAnyWayOfSharing() throws IOException {
        machine.answer("versions", "NCCL   2.30.7, /opt/libnccl.so.2\nGPU 0  Made Up 9000\n")
                .answer("G2-by-host-id", "CHECK G2.allreduce fail 3 elements differ\n");

        Job job = machine.check("--only", "G2");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.lines("| fail |")).singleElement().asString().contains("G2.allreduce 3 elements differ");
        assertThat(job.output()).doesNotContain("not used");
    }

    @Test
    void aMachineOnWhichNoWayOfSharingPassesFails() throws IOException {
        machine.answer("G2-by-host-id", "CHECK G2 fail ncclCommInitRank failed\n");

        Job job = machine.check("--only", "G2");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.lines("| fail |"))
                .singleElement()
                .asString()
                .contains("by an NCCL_HOSTID each, small tensors: G2 ncclCommInitRank failed");
    }

    @Test
    @Tag("long")
    void theWayOfSharingCanBeChosen() throws IOException {
        machine.answer("versions", "NCCL   2.30.7, /opt/libnccl.so.2\nGPU 0  Made Up 9000\n");

        machine.check("--only", "G2", "--share", "host-id");

        assertThat(machine.calls()).noneMatch(call -> call.contains("MULTI_RANK"));
    }

    @Test
    @Tag("long")
    void aJobThatEndsWellAlthoughARankHasDiedFails() throws IOException {
        machine.code("dies-G3", 0);

        assertThat(machine.check("--only", "G3").output())
                .contains("| fail | 1 rank: ", "; a rank dies in the middle of an allreduce: exit code 0 |");
    }

    @Test
    @Tag("long")
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
    @Tag("long")
    void whereThereAreEnoughGpusEveryRankHasItsOwn() throws IOException {
        machine.answer("versions", "NCCL   2.28.3\nGPU 0  A\nGPU 1  B\nGPU 2  C\n");

        machine.check("--only", "G1,G2", "--ranks", "3");

        assertThat(machine.calls()).noneMatch(call -> call.contains("HVD_SHARE_GPU"));
        assertThat(machine.calls().stream().map(call -> call.substring(0, 5)))
                .containsExactly("-np 1", "-np 3", "-np 4", "-np 1", "-np 3", "-np 3", "-np 3");
    }

    @Test
    void ncclIsHiddenByLeavingOutTheNativesOfItsBindingAndNothingElse() throws IOException {
        machine.check("--only", "G3");

        assertThat(machine.jarsWithoutNccl())
                .containsExactly(
                        "cuda-1.jar",
                        "jcuda-1.jar",
                        "jcuda-natives-1-linux-x86_64.jar",
                        "pytorch-1-linux-x86_64-gpu.jar");
    }

    /** java takes the jars that train.jar names from beside the file that it has opened, not from beside a link to it. */
    @Test
    @Tag("long")
    void whatIsHiddenIsFoundByNoRealJava() throws IOException {
        Job job = machine.startsRealJava().check("--only", "G3", "--ranks", "1");

        assertThat(job.output()).contains("| pass | 1 rank: NCCL's natives: null, JCuda: jar:file:");
    }

    @Test
    @Tag("long")
    void aCheckThatFailsOrHangsDoesNotStopTheOthers() throws IOException {
        machine.answer("G1", "CHECK G1 fail rank 0 has device 1\n")
                .code("G1", 1)
                .hangs("G2");

        Job job = machine.check("--check-limit", "2", "--only", "G1,G2,G4");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output())
                .contains("gpu_check=fail passed=1 failed=2 not_run=0 left=0 ")
                .contains("| fail | 1 rank: G1 rank 0 has device 1; 2 ranks for 1 GPU(s): ")
                .contains(
                        "| fail | 1 rank: no end within 2 s; ", "small tensors: not begun, the check's time was over;")
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
        "G7, CHECK G7 fail the device stopped, 1, G7 the device stopped",
        "dies-G3, CHECK G3.rank-dies fail the cause is missing, 86, G3.rank-dies the cause is missing"
    })
    @Tag("long")
    void whatIsNotAPassIsAFailureWithItsReason(String answer, String text, int code, String reason) throws IOException {
        machine.answer(answer, text + "\n").code(answer, code);

        boolean dies = answer.startsWith("dies");
        String check = answer.startsWith("memcheck") ? "G6" : dies ? "G3" : answer;
        Job job = machine.check("--only", check, "--ranks", dies ? "2" : "1");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.lines("| fail |")).singleElement().asString().contains(reason);
    }

    @Test
    @Tag("long")
    void everyExampleTrainsWithOneRankAndWithSeveral() throws IOException {
        Job job = machine.check("--only", "G8");

        assertThat(machine.calls()).hasSize(14);
        assertThat(machine.calls().get(0))
                .startsWith("-np 1 env HVD_BACKEND=nccl java -jar ")
                .endsWith(" digits --device cuda --epochs 10");
        assertThat(machine.calls().get(1))
                .startsWith("-np 2 env HVD_BACKEND=nccl HVD_SHARE_GPU=1 bash -c NCCL_HOSTID=")
                .endsWith(" digits --device cuda --epochs 10");
        assertThat(machine.calls().get(5)).endsWith(" mnist --device cuda --epochs 6 --amp fp16");
        assertThat(machine.calls().get(7)).endsWith(" cifar10 --device cuda --preset quick --epochs 3");
        assertThat(machine.calls().get(9)).endsWith(" char-lm --device cuda --epochs 4");
        assertThat(machine.calls().get(11)).endsWith(" finetune --device cuda --epochs 3");
        assertThat(machine.calls().get(13)).endsWith(" finetune --device cuda --epochs 3 --fully-shard");
        assertThat(job.lines("| G8 | training with LibTorch on the GPU | pass | "))
                .singleElement()
                .asString()
                .contains(
                        "digits, 1 rank: ranks=1 loss=0.1 accuracy=0.96; digits, 2 ranks: ",
                        "mnist-amp, 1 rank: ranks=1 loss=0.1 accuracy=0.96; ",
                        "cifar10, 2 ranks: ",
                        "char-lm, 2 ranks: ",
                        "finetune-sharded, 2 ranks: ");
    }

    @Test
    @Tag("long")
    void aTrainingThatLearnsTooLittleOrIsRefusedFailsWithItsReason() throws IOException {
        machine.answer("G8-mnist", "RESULT example=mnist ranks=1 loss=2.3 accuracy=0.11\n")
                .answer(
                        "G8-cifar10",
                        "INFO [HVD-201] x\nhvd: FAILED: rank 0 threw E: [HVD-107] --device cuda on rank 0: no\nafter it\n")
                .code("G8-cifar10", 1);

        Job job = machine.check("--only", "G8", "--ranks", "1");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.lines("| G8 | training with LibTorch on the GPU | fail | "))
                .singleElement()
                .asString()
                .contains(
                        "mnist, 1 rank: example=mnist ranks=1 loss=2.3 accuracy=0.11, and the accuracy is not above 0.85")
                .contains("mnist-amp, 1 rank: example=mnist ranks=1 loss=2.3 accuracy=0.11, and the accuracy is not")
                .contains("cifar10, 1 rank: exit code 1; [HVD-107] --device cuda on rank 0: no");
    }

    @Test
    @Tag("long")
    void fewStepsShowThatATrainingWorksAndAreNotAskedWhatItLearns() throws IOException {
        machine.answer("G8-mnist", "RESULT example=mnist ranks=1 loss=2.3 accuracy=0.11\n");

        assertThat(machine.check("--only", "G8", "--quick").exitCode()).isZero();
        assertThat(machine.calls()).allMatch(call -> call.endsWith(" --max-steps 20"));
    }

    @Test
    @Tag("long")
    void withoutLibTorchForGpusWhatNeedsItIsNotRun() throws IOException {
        machine.removeJar("pytorch-1-linux-x86_64-gpu.jar");

        Job job = machine.check("--only", "G8,G9");

        assertThat(job.output())
                .contains(
                        "| G8 | training with LibTorch on the GPU | not-run | this train.jar has no LibTorch for GPUs,")
                .contains("| G9 | allreduce beside LibTorch's own NCCL | not-run | this train.jar has no LibTorch");
        assertThat(folder.resolve("answers/calls")).doesNotExist();
    }

    @Test
    @Tag("long")
    void librariesThatLibTorchNeedsAreNamed() throws IOException {
        machine.removeLibrary("libcudnn.so.9");
        machine.removeLibrary("libcusolver.so.12");

        Job job = machine.check("--only", "G8,G9");

        assertThat(job.output())
                .contains("| not-run | LibTorch's build for GPUs does not find libcudnn.so.9; libcusolver.so.12 |")
                .contains("| missing parts | libcudnn.so.9 (LibTorch; G8, G9); libcusolver.so.12 (LibTorch; G8, G9) |");
    }

    /** G8 would start fourteen jobs that all fail, as on a machine with CUDA and without NCCL. */
    @ParameterizedTest
    @ValueSource(strings = {"libnccl.so.2", "libcudnn_ops.so.9", "libcudnn_graph.so.9"})
    @Tag("long")
    void withoutOneOfTheseLibTorchIsNotTried(String name) throws IOException {
        machine.removeLibrary(name);

        Job job = machine.check("--only", "G8,G9");

        assertThat(job.output()).contains("| not-run | LibTorch's build for GPUs does not find " + name + " |");
        assertThat(job.lines("| missing parts | ").get(0)).containsOnlyOnce(name);
        assertThat(folder.resolve("answers/calls")).doesNotExist();
    }

    @Test
    @Tag("long")
    void anEarlierBuildsLibTorchForGpusDoesNotCount() throws IOException {
        machine.asCheckout("lib/jcuda-1.jar lib/pytorch-2-linux-x86_64.jar");

        Job job = machine.check("--only", "G8");

        assertThat(job.output()).contains("| not-run | this train.jar has no LibTorch for GPUs,");
        assertThat(folder.resolve("answers/calls")).doesNotExist();
    }

    @Test
    @Tag("long")
    void theLibTorchForGpusThatTheManifestNamesCounts() throws IOException {
        machine.asCheckout("lib/jcuda-1.jar lib/pytorch-1-linux-x86_64-gpu.jar");

        assertThat(machine.check("--only", "G8").lines("| G8 | training with LibTorch on the GPU | pass | "))
                .hasSize(1);
    }

    @Test
    @Tag("long")
    void theProgramInCMeasuresTheSizesThatHvdDoes() throws IOException {
        machine.answer("versions", "NCCL   2.30.7, /opt/libnccl.so.2\nGPU 0  Made Up 9000\n");

        machine.check("--only", "G7");
        machine.check("--only", "G7", "--quick", "--share", "multi-rank-host-id");

        assertThat(machine.callsOfC()).containsExactly("1 134217728", "2 8388608", "1 65536", "2 65536 host-ids");
    }

    /** What says nothing about the machine is neither a failure nor a pass. */
    @Test
    void aRunThatCouldNotBeginIsLeft() {
        Job job = Job.run(
                List.of(
                        "bash",
                        "-euc",
                        ". \"$0\"; work=$(mktemp -d) check=G8 label=mnist allowed=9 running=; declare -A outcome notes;"
                                + " deadline=$SECONDS own_deadline=$deadline; attempt echo began || true;"
                                + " cat \"$work/out\"; rm -r \"$work\"; echo \"${outcome[G8]}, ${notes[G8]}\"",
                        Path.of("..", "mpirun-scripts", "gpu", "runs.sh").toString()),
                java.util.Map.of());

        assertThat(job.output()).isEqualTo("left, mnist: not begun, the check's time was over\n");
    }

    @Test
    @Tag("long")
    void libTorchsOwnNcclIsMeasuredBesideHvdsWithSeveralRanks() throws IOException {
        Job job = machine.check("--only", "G9");

        assertThat(machine.calls()).singleElement().asString().endsWith(" --factor 4 --end 8M --only G9");
        assertThat(job.output())
                .contains("    beside-libtorch           8     11.00     12.00       0")
                .contains("8 B: hvd 11.0 us, LibTorch's NCCL 23007 12.0 us; ranks that share a GPU take turns on it");
    }

    @Test
    @Tag("long")
    void aCopyBelowTheAimIsSaidToBeButTheBitsDecide() throws IOException {
        machine.answer("G4", "CHECK G4 pass bits equal (ratios 0.91 and 0.79), our own copy 1\n");

        Job job = machine.check("--only", "G4");

        assertThat(job.exitCode()).isZero();
        assertThat(job.output()).contains("BELOW the aim of 0.80");
    }

    @Test
    @Tag("long")
    void withoutNcclTheHostsWayIsCheckedAndTheRestSaysWhyNot() throws IOException {
        machine.answer("versions", "NCCL   missing: no libnccl.so.2\nGPU 0  Made Up 9000\n");

        Job job = machine.check();

        assertThat(job.exitCode()).isEqualTo(2);
        assertThat(job.output())
                .contains("| G2 | collectives by NCCL | not-run | no NCCL: no libnccl.so.2 |")
                .contains("| not-run | G4, 1 rank: 0 errors; G2: no NCCL: no libnccl.so.2 |")
                .contains("C: not-run, no NCCL: no libnccl.so.2; ")
                .contains("gpu_check=not-run passed=6 failed=0 not_run=3 left=0 ");
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
                .contains("did not compile calls.c: x.c: error: no; ")
                .contains("gpu_check=not-run passed=1 failed=0 not_run=2 left=0 ")
                .contains("| missing parts | compute-sanitizer (G6) |");
    }

    @Test
    void eachMissingLibraryIsNamedWithWhatItIsFor() throws IOException {
        machine.removeLibrary("libcuda.so.1");
        machine.removeLibrary("libnccl.so.2");
        machine.removeJar("jcuda-natives-1-linux-x86_64.jar");
        machine.removeJar("cuda-1-linux-x86_64.jar");

        Job job = machine.check("--only", "G1");

        assertThat(job.lines("| missing parts | "))
                .singleElement()
                .asString()
                .contains(
                        "libcuda.so.1 (the NVIDIA driver; all checks)",
                        "libnccl.so.2 (NCCL; G2 and what else uses NCCL)",
                        "the jar jcuda-natives (all checks)",
                        "the jar cuda-linux-x86_64 (what uses NCCL)")
                .doesNotContain("libcudart");
        assertThat(job.lines("gpu-check: missing: libcuda.so.1")).hasSize(1);
    }

    @Test
    void aLibraryThatIsThereButLacksAnotherIsNamedWithTheOneThatItLacks() throws IOException {
        CppCompiler compiler = CppCompiler.required();
        Path absent = folder.resolve("libabsent.so");
        compiler.compile(List.of("-shared", "-fPIC", "-x", "c++", "/dev/null", "-o", absent.toString()));
        compiler.compile(List.of(
                "-shared",
                "-fPIC",
                "-Wl,--no-as-needed",
                "-L" + folder,
                "-labsent",
                "-x",
                "c++",
                "/dev/null",
                "-o",
                folder.resolve("cuda/lib/libnccl.so.2").toString()));
        Files.delete(absent);

        assertThat(machine.check("--only", "G1").output())
                .contains("| missing parts | libabsent.so (needed by libnccl.so.2) |");
    }

    /** Minutes on a GPU are too few to start it once more only to see why. */
    @Test
    @Tag("long")
    void whatAFailedJobSaidLastAndWhatNcclSaidIsInTheRecord() throws IOException {
        machine.answer(
                        "G2",
                        "host:1 NCCL WARN Duplicate GPU\nCHECK G2.allreduce pass all types\nlast words of a rank\n")
                .code("G2", 1);

        Job job = machine.check("--only", "G2", "--ranks", "1");

        assertThat(job.output())
                .contains("    host:1 NCCL WARN Duplicate GPU\n")
                .contains("    (the end:)\n")
                .contains("    last words of a rank\n");
    }

    @Test
    @Tag("long")
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
    @Tag("long")
    void aTrainerThatLearnsNothingFailsHoweverWellItsRunsAgree() throws IOException {
        machine.answer("G5", "RESULT example=cuda-mlp ranks=1 loss=2.3 accuracy=0.10\n");

        Job job = machine.check("--only", "G5");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("; an accuracy is below 0.93 |");
    }

    @Test
    @Tag("long")
    void withoutATableOfVersionsNoRecordIsWrittenThatTheNextCallWouldRefuse() throws IOException {
        machine.answer("versions", "");
        Path record = folder.resolve("record.md");

        Job job = machine.check("--out", record.toString());

        assertThat(job.exitCode()).isEqualTo(2);
        assertThat(job.output())
                .contains("the table of versions could not be read (exit code 0), so that no check was begun")
                .doesNotContain("RESULT");
        assertThat(record).doesNotExist();
        assertThat(folder.resolve("answers/calls")).doesNotExist();

        machine.answer("versions", "NCCL   2.28.3\nGPU 0  Made Up 9000\n");
        assertThat(machine.check("--only", "G1", "--out", record.toString()).exitCode())
                .isZero();
    }

    /** LibTorch is unpacked by the first start, which must not be ended and begun again. */
    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @Tag("long")
    void theFirstStartMayTakeLongerThanTheOthers() throws IOException {
        machine.answer("first-start", "22");

        assertThat(machine.check("--only", "G1").exitCode()).isZero();
        assertThat(folder.resolve("answers/starts")).hasContent("\n");
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
    @Tag("long")
    void everyLineOfACheckCounts() throws IOException {
        machine.answer("G3", "CHECK G3.allreduce pass all types\nCHECK G3.out-of-place fail 1 differs\n");

        assertThat(machine.check("--only", "G3", "--ranks", "1").output())
                .contains("| fail | 1 rank: G3.out-of-place 1 differs |");
    }

    @ParameterizedTest
    @CsvSource({
        "--only G10, G10",
        "--ranks many, many",
        "--limit 0, --limit",
        "--limit 9, at least 10 s",
        "--limit 9h, 540s or 9m",
        "--check-limit soon, --check-limit",
        "--share both, 'multi-rank, host-id or multi-rank-host-id'",
        "--again G2, --out",
        "--again G10 --out FOLDER/record, G10",
        "--page /nowhere, --page stands first",
        "--out /nowhere/record, /nowhere/record",
        "--out FOLDER, is no plain file",
        "--out /dev/stdout, is no plain file",
        "--fast, --fast",
        "--only, needs a value"
    })
    void mistakesAreNamedBeforeAnythingRuns(String flags, String word) {
        Job job = machine.check(flags.replace("FOLDER", folder.toString()).split(" "));

        assertThat(job.exitCode()).isEqualTo(2);
        assertThat(job.output()).contains(word).doesNotContain("RESULT");
        assertThat(folder.resolve("record")).doesNotExist();
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
