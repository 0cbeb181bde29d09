package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import org.bytedeco.javacpp.tools.Logger;
import org.bytedeco.javacpp.tools.Slf4jLogger;
import org.junit.jupiter.api.Test;

class TorchRuntimeTest {
    @Test
    void whatJavaCppRemarksGoesWhereHvdLogs() {
        TorchRuntime.prepare();
        assertThat(Logger.create(TorchRuntimeTest.class)).isInstanceOf(Slf4jLogger.class);
    }
}
