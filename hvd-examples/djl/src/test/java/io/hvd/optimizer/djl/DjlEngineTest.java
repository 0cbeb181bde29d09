package io.hvd.optimizer.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.libtorch.LoadedTorch;
import org.junit.jupiter.api.Test;

class DjlEngineTest {
    @Test
    void theEngineIsLoadedFromTheClassPathAndJavaCppsLibTorchIsThenRefused() {
        Hvd.spawn(2, hvd -> {
            assertThat(DjlEngine.load(hvd).getEngineName()).isEqualTo("PyTorch");
            return null;
        });

        assertThat(System.getProperty("ai.djl.offline")).isEqualTo("true");
        LoadedTorch loaded = LoadedTorch.now();
        assertThat(loaded.ofDjl().orElseThrow()).startsWith("/").endsWith("libdjl_torch.so");
        assertThatThrownBy(() -> loaded.requireNoDjl("/cache/libjnitorch.so"))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll(loaded.ofDjl().orElseThrow(), "/cache/libjnitorch.so", "class path")
                .extracting("id")
                .isEqualTo(ErrorId.INIT_FAILED);
        loaded.requireNoJavaCpp("DJL's");
    }
}
