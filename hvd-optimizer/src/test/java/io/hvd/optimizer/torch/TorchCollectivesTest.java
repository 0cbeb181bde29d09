package io.hvd.optimizer.torch;

import io.hvd.Hvd;
import io.hvd.InitOptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** The gradients with ranks as threads. */
@ParameterizedClass(name = "{0} ranks as threads")
@ValueSource(ints = {1, 2, 3})
class TorchCollectivesTest extends ExchangeGradients {
    @Parameter
    int size;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    @Override
    GradientSamples.Ranks ranks() {
        return body -> Hvd.spawn(size, InitOptions.standard().withDynamicProcessSets(), body);
    }
}
