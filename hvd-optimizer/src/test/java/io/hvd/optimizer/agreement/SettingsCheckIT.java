package io.hvd.optimizer.agreement;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Processes under mpirun compare their optimizers as ranks that are threads do. */
class SettingsCheckIT {
    /** Rank 1 has another learning rate. */
    static final class UnlikeRates {
        public static void main(String[] args) {
            try (HvdContext hvd = Hvd.init()) {
                ArrayParameters parameters = new ArrayParameters().add("w", new float[3], new float[3]);
                DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                                new Sgd(parameters, hvd.rank() == 1 ? 0.25 : 0.5))
                        .build();
                optimizer.broadcastParameters(0);
                optimizer.step();
                System.out.println("STEPPED");
            }
        }
    }

    @Test
    void anotherLearningRateEndsTheJobBeforeTheFirstStepAndIsNamed() {
        Job job = Job.horovodrun(3, Map.of(), UnlikeRates.class);

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.output())
                .contains("HVD-403", "\"learning rate\" is 0.25 on ranks [1] and 0.5 on ranks [0, 2]")
                .doesNotContain("STEPPED");
    }
}
