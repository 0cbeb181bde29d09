package io.hvd.benchmarks.rank;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.Tensor;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class NetTest {
    @ParameterizedTest
    @EnumSource
    void theBytesAreThoseOfAllGradients(Net net) {
        long bytes = TorchTensors.parameters(net.make()).values().stream()
                .mapToLong(Tensor::bytes)
                .sum();

        assertThat(net.bytes()).isEqualTo(bytes);
    }

    @ParameterizedTest
    @EnumSource
    void aBatchGoesThroughTheNet(Net net) {
        try (PointerScope scope = new PointerScope()) {
            float loss = Net.loss(net.make(), net.images(), net.labels()).item_float();

            assertThat(loss).isBetween(0.5f, 20f);
        }
    }
}
