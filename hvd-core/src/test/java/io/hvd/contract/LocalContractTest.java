package io.hvd.contract;

import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract with ranks as threads. */
@ParameterizedClass(name = "{0} ranks as threads")
@ValueSource(ints = {1, 2, 3, 4, 5})
class LocalContractTest extends CollectiveContract {
    @Parameter
    int size;

    @Override
    Ranks ranks() {
        return Ranks.threads(size);
    }
}
