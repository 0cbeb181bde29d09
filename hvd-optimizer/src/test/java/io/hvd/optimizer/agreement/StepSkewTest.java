package io.hvd.optimizer.agreement;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.JoinDivisor;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class StepSkewTest {
    /** What is said while rank 1 makes so many steps more than the others, in each of two epochs. */
    private static String said(int more) {
        PrintStream before = System.err;
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
        try {
            Hvd.spawn(3, hvd -> {
                ArrayParameters parameters = new ArrayParameters().add("w", new float[1], new float[1]);
                DistributedOptimizer optimizer =
                        DistributedOptimizer.wrap(new Sgd(parameters, 0)).build();
                for (int epoch = 0; epoch < 2; epoch++) {
                    for (int step = 0; step < 2 + (hvd.rank() == 1 ? more : 0); step++) {
                        optimizer.zeroGradients();
                        optimizer.step();
                    }
                    optimizer.join(JoinDivisor.ACTIVE);
                }
                return null;
            });
        } finally {
            System.setErr(before);
        }
        return said.toString(StandardCharsets.UTF_8);
    }

    @Test
    void moreThanAThousandStepsOfOthersAreSaidOnce() {
        assertThat(said(1001))
                .containsOnlyOnce("rank 1 has made 1003 steps since the last join, and rank 0 only 2")
                .containsOnlyOnce("steps since the last join");
    }

    @Test
    void aThousandStepsOfOthersAreNot() {
        assertThat(said(1000)).doesNotContain("since the last join");
    }
}
