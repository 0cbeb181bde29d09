package io.hvd.optimizer.torch;

import io.hvd.Hvd;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** States and units with ranks as threads. */
@ParameterizedClass(name = "{0} ranks as threads")
@ValueSource(ints = {1, 2, 4})
class FullyShardModelsTest extends FullyShardModels {
    @Parameter
    int size;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    @Override
    GradientSamples.Ranks ranks() {
        return body -> Hvd.spawn(size, body);
    }
}
