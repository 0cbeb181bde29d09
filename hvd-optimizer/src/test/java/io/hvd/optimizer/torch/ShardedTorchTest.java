package io.hvd.optimizer.torch;

import io.hvd.Hvd;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** Shared-out state with ranks as threads; with five ranks one of them has no parameter. */
@ParameterizedClass(name = "{0} ranks as threads")
@ValueSource(ints = {1, 2, 5})
class ShardedTorchTest extends ShardedTraining {
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
