package io.hvd.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class CoordinatorSimulationTest {
    @Test
    void x() {
        SimulationTally tally = new SimulationTally();
        for (long s = 0; s < 2000; s++) SimulatedJob.run(s, tally);
        System.out.println(tally);
    }
}
