package io.hvd.optimizer.torch.natives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.testing.CppCompiler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TorchBuildTest {
    @TempDir
    Path folder;

    @BeforeAll
    static void unpack() {
        TorchRuntime.load();
    }

    @Test
    void aLibraryTellsWhichOthersItNeeds() throws IOException {
        assertThat(ElfLibrary.needs(Path.of(System.getProperty("java.home"), "lib", "libjava.so")))
                .contains("libjvm.so", "libc.so.6");
    }

    @Test
    void whatIsNoLibraryIsRefused() throws IOException {
        Path text = Files.writeString(folder.resolve("libtext.so"), "x".repeat(100));
        assertThatThrownBy(() -> ElfLibrary.needs(text)).hasMessageContaining("libtext.so is not a 64-bit");
        Path whole = Path.of(System.getProperty("java.home"), "lib", "libjava.so");
        Path half = folder.resolve("libhalf.so");
        Files.write(half, Arrays.copyOf(Files.readAllBytes(whole), (int) Files.size(whole) / 2));
        assertThatThrownBy(() -> ElfLibrary.needs(half)).hasMessageContaining("libhalf.so ends at");
    }

    /** What LibTorch and OpenBLAS bring themselves is not asked for. */
    @Test
    void theBuildForCpusLacksNothing() throws IOException {
        TorchBuild build = TorchBuild.unpacked();

        assertThat(build.forGpus()).isFalse();
        assertThat(build.folders()).hasSize(2);
        assertThat(build.needs())
                .contains("libc.so.6", "libstdc++.so.6")
                .doesNotContain("libc10.so", "libtorch_cpu.so", "libopenblas.so.0");
        assertThat(build.missing()).isEmpty();
    }

    @Test
    void aLibraryThatTheLoaderDoesNotFindIsNamedAndThoseBesideItAreNot() throws IOException {
        CppCompiler compiler = CppCompiler.required();
        shared(compiler, "libabsent.so");
        shared(compiler, "libbeside.so");
        shared(compiler, "libtorch_cuda.so", "-Wl,--no-as-needed", "-L" + folder, "-labsent", "-lbeside");
        Files.delete(folder.resolve("libabsent.so"));

        assertThat(new TorchBuild(List.of(folder), true).missing()).containsExactly("libabsent.so");
    }

    /** In JavaCPP's cache such links stay when LibTorch's other build has been used. */
    @Test
    void aLinkToALibraryOfAnotherBuildIsNotAskedWhatItNeeds() throws IOException {
        CppCompiler compiler = CppCompiler.required();
        shared(compiler, "libabsent.so");
        shared(compiler, "libc10_cuda.so", "-Wl,--no-as-needed", "-L" + folder, "-labsent");
        Files.delete(folder.resolve("libabsent.so"));
        Path other = Files.createDirectory(folder.resolve("other"));
        Files.createSymbolicLink(other.resolve("libc10_cuda.so"), folder.resolve("libc10_cuda.so"));

        assertThat(new TorchBuild(List.of(other), false).missing()).isEmpty();
        assertThat(new TorchBuild(List.of(folder), true).missing()).containsExactly("libabsent.so");
    }

    @Test
    void whyItIsNotLoadedNamesTheLibrariesAndTheDriver() throws IOException {
        CppCompiler compiler = CppCompiler.required();
        shared(compiler, "libabsent.so");
        shared(compiler, "libtorch_cpu.so", "-Wl,--no-as-needed", "-L" + folder, "-labsent");
        Files.delete(folder.resolve("libabsent.so"));

        assertThat(new TorchBuild(List.of(folder), true).whyNotLoaded())
                .hasValueSatisfying(why -> assertThat(why)
                        .contains(
                                "build for GPUs",
                                "does not find libabsent.so;",
                                "LD_LIBRARY_PATH. There is no NVIDIA"));
        assertThat(TorchBuild.unpacked().whyNotLoaded()).isEmpty();
    }

    @Test
    void theBuildForCpusIsNotSaidToNeedCuda() throws IOException {
        CppCompiler compiler = CppCompiler.required();
        shared(compiler, "libabsent.so");
        shared(compiler, "libtorch_cpu.so", "-Wl,--no-as-needed", "-L" + folder, "-labsent");
        Files.delete(folder.resolve("libabsent.so"));

        assertThat(new TorchBuild(List.of(folder), false).whyNotLoaded())
                .hasValueSatisfying(why -> assertThat(why)
                        .contains("it does not find libabsent.so; install this system's packages", "LD_LIBRARY_PATH")
                        .doesNotContain("CUDA", "cuDNN", "NCCL", "NVIDIA"));
    }

    private void shared(CppCompiler compiler, String name, String... flags) {
        String file = folder.resolve(name).toString();
        List<String> all = new ArrayList<>(List.of("-shared", "-fPIC", "-Wl,-soname," + name));
        all.addAll(List.of(flags));
        all.addAll(List.of("-x", "c++", "/dev/null", "-o", file));
        compiler.compile(all);
    }

    @Test
    void theReasonSaysWhatIsMissing() {
        assertThat(TorchBuild.whyNoGpu(List.of("libcublas.so.13", "libcudnn.so.9"), false))
                .contains("build for GPUs", "does not find libcublas.so.13, libcudnn.so.9;", "libcuda.so.1) either");
        assertThat(TorchBuild.whyNoGpu(List.of("libcudnn.so.9"), true))
                .contains("libcudnn.so.9; they belong to CUDA 13")
                .endsWith("LD_LIBRARY_PATH");
        assertThat(TorchBuild.whyNoGpu(List.of(), false)).contains("no NVIDIA driver", "libcuda.so.1");
        assertThat(TorchBuild.whyNoGpu(List.of(), true)).contains("too old", "CUDA_VISIBLE_DEVICES");
    }

    @Test
    void onlyNvidiasLibrariesAreSaidToBelongToCuda() {
        assertThat(TorchBuild.whyNoGpu(List.of("libgomp.so.1"), true))
                .contains("does not find libgomp.so.1; install this system's packages")
                .doesNotContain("cuDNN");
        assertThat(TorchBuild.whyNoGpu(List.of("libnccl.so.2", "libstdc++.so.6"), true))
                .contains("libnccl.so.2, libstdc++.so.6; NVIDIA's among them belong to CUDA 13, cuDNN 9 and NCCL");
    }

    /** The names that stand in docs/how-to/gpus.md. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "libcublas.so.13", "libcublasLt.so.13", "libcudart.so.13", "libcudnn.so.9", "libcudnn_adv.so.9",
                "libcudnn_cnn.so.9", "libcudnn_graph.so.9", "libcudnn_ops.so.9", "libcufft.so.12", "libcufile.so.0",
                "libcupti.so.13", "libcurand.so.10", "libcusolver.so.12", "libcusparse.so.12", "libnccl.so.2",
                "libnvrtc.so.13", "libnvJitLink.so.13"
            })
    void whatTheBuildForGpusNeedsIsNvidias(String library) {
        assertThat(TorchBuild.whyNoGpu(List.of(library), true)).contains(library + "; they belong to CUDA 13");
    }

    @Test
    void theBuildForCpusIsTheReasonWhyThereIsNoGpu() {
        assertThat(TorchRuntime.whyNoGpu())
                .hasValueSatisfying(why -> assertThat(why).contains("build for CPUs", "-gpu", "-Pgpu"));
    }
}
