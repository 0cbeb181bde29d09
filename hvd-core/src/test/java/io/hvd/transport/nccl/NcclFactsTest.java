package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.DamagedMessages;
import io.hvd.transport.nccl.natives.NcclVariables;
import java.util.List;
import org.junit.jupiter.api.Test;

class NcclFactsTest {
    @Test
    void aCardArrivesAsItWasAndADamagedOneIsRefused() {
        for (List<String> gpus : List.of(List.<String>of(), List.of("0000:01:00.0", "0000:02:00.0"))) {
            var variables = new NcclVariables("host", "1");
            var facts =
                    new NcclFacts("machine", variables, "7", gpus, "2.21", "x".repeat(70_000), "none", "ways", "error");

            assertThat(NcclFacts.decode(facts.encode())).isEqualTo(facts);
            DamagedMessages.of(facts.encode(), NcclFacts::decode);
        }
    }
}
