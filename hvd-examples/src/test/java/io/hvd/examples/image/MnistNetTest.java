package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.optimizer.torch.TorchTensors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class MnistNetTest {
    @BeforeAll
    static void unpackLibTorch() {
        TorchRuntime.prepare();
    }

    @Test
    void theNetIsTheOneOfHorovodsExampleWith21840Parameters() {
        var parameters = TorchTensors.parameters(new MnistNet());

        assertThat(parameters.values().stream()
                        .mapToLong(parameter -> parameter.shape().elements())
                        .sum())
                .isEqualTo(21_840);
        assertThat(parameters)
                .containsOnlyKeys(
                        "conv1.weight",
                        "conv1.bias",
                        "conv2.weight",
                        "conv2.bias",
                        "fc1.weight",
                        "fc1.bias",
                        "fc2.weight",
                        "fc2.bias");
    }
}
