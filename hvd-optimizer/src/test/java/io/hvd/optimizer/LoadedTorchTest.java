package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.TorchRuntime;
import java.util.List;
import org.junit.jupiter.api.Test;

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
}
