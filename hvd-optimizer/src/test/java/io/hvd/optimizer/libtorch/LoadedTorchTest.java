package io.hvd.optimizer.libtorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.TorchRuntime;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The other direction, in a process that has loaded DJL's engine, is a test of hvd-examples/djl. */
class LoadedTorchTest {
    @Test
    void whereJavaCppsLibTorchIsDjlsIsRefusedAndBothFilesAreNamed() {
        TorchRuntime.load();

        LoadedTorch loaded = LoadedTorch.now();

        assertThat(loaded.ofDjl()).isEmpty();
        loaded.requireNoDjl("JavaCPP's");
        assertThatThrownBy(() -> loaded.requireNoJavaCpp("/home/me/.djl.ai/pytorch"))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("/home/me/.djl.ai/pytorch", "libjnitorch.so", "two builds of LibTorch");
    }

    @Test
    void pathsOfLibrariesAreReadFromTheLinesOfTheSystem() {
        LoadedTorch loaded = LoadedTorch.in(List.of(
                "7f79ef640000-7f79ef6a0000 r-xp 00000000 08:01 77   /root/.djl.ai/pytorch/2.7.1/0.36.0-libdjl_torch.so",
                "7f79ef700000-7f79ef7a0000 rw-p 00000000 00:00 0",
                "7f79ef800000-7f79ef8a0000 r-xp 00000000 08:01 78   /usr/lib/libtorch_cpu.so"));

        assertThat(loaded.ofDjl()).contains("/root/.djl.ai/pytorch/2.7.1/0.36.0-libdjl_torch.so");
        assertThat(loaded.ofJavaCpp()).isEmpty();
    }

    @Test
    void aSecondLibTorchOnTheClassPathIsNamedByItsJar(@TempDir Path folder) throws IOException {
        Path pytorch = jar(folder, "pytorch-2.13.0.jar", "org/bytedeco/pytorch/global/torch.class");
        Path natives =
                jar(folder, "pytorch-2.13.0-linux-x86_64.jar", "org/bytedeco/pytorch/linux-x86_64/libjnitorch.so");
        Path fork = jar(folder, "fork-2.7.jar", "org/bytedeco/pytorch/global/torch.class");
        Path forksNatives =
                jar(folder, "fork-2.7-linux-x86_64.jar", "org/bytedeco/pytorch/linux-x86_64/libjnitorch.so");
        Path djl = jar(folder, "pytorch-jni-2.7.1.jar", "jnilib/pytorch.properties");

        assertThat(second(pytorch, natives)).isEmpty();
        assertThat(second(pytorch, natives, fork).orElseThrow())
                .contains(pytorch + ", " + fork, "global/torch.class", "Keep one of them");
        assertThat(second(pytorch, natives, forksNatives).orElseThrow())
                .contains(natives + ", " + forksNatives, "libjnitorch.so");
        assertThat(second(pytorch, natives, djl).orElseThrow())
                .contains("DJL's", djl + " beside " + pytorch, "exclude ai.djl.pytorch");
    }

    @Test
    void thereIsOneLibTorchOnThisClassPath() throws IOException {
        assertThat(LoadedTorch.secondOnClassPath(LoadedTorchTest.class.getClassLoader(), "linux-x86_64"))
                .isEmpty();
    }

    private static Optional<String> second(Path... jars) throws IOException {
        URL[] urls = new URL[jars.length];
        for (int i = 0; i < jars.length; i++) {
            urls[i] = jars[i].toUri().toURL();
        }
        try (URLClassLoader loader = new URLClassLoader(urls, null)) {
            return LoadedTorch.secondOnClassPath(loader, "linux-x86_64");
        }
    }

    private static Path jar(Path folder, String name, String entry) throws IOException {
        Path file = folder.resolve(name);
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(file))) {
            out.putNextEntry(new JarEntry(entry));
        }
        return file;
    }
}
