package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TorchRuntimeTest {
    @Test
    void aRankGetsItsShareOfTheCoresButForOne() {
        assertThat(TorchRuntime.share(16, 4)).isEqualTo(3);
        assertThat(TorchRuntime.share(16, 1)).isEqualTo(15);
        assertThat(TorchRuntime.share(2, 1)).isEqualTo(1);
    }

    @Test
    void aRankAlwaysGetsAThread() {
        assertThat(TorchRuntime.share(2, 4)).isEqualTo(1);
        assertThat(TorchRuntime.share(4, 3)).isEqualTo(1);
    }
}
