package io.hvd.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The build hides the machine's GPUs from tests, which start more ranks than there may be; HostCuda's are not hidden. */
class HiddenGpusTest {
    @Test
    void testsAndTheJobsThatTheyStartSeeNoGpuOfTheMachine() {
        String visible = System.getenv("CUDA_VISIBLE_DEVICES");
        assertThat(visible).as("-1, or what -Dhvd.test.gpus says").isNotNull();
        assertThat(Job.run(List.of("printenv", "CUDA_VISIBLE_DEVICES"), Map.of())
                        .output()
                        .strip())
                .isEqualTo(visible);
    }
}
