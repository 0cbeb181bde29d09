package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SaveCheckpointTest {
    /** /proc lets nobody make a file, root neither. */
    @Test
    void aFolderThatCannotBeWrittenShowsBeforeTheFirstStep() {
        Path file = Path.of("/proc/hvd.safetensors");
        AtomicInteger steps = new AtomicInteger();
        assertThatThrownBy(() -> Hvd.spawn(2, hvd -> {
                    float[] weight = {1};
                    float[] gradient = {1};
                    DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                                    new Sgd(new ArrayParameters().add("w", weight, gradient), 0.1))
                            .build();
                    return TrainingLoop.of(hvd, optimizer)
                            .with(SaveCheckpoint.everyEpochs(5, file, training -> null))
                            .run(5, List.of(1, 2), 2, (batch, training) -> {
                                steps.incrementAndGet();
                                optimizer.step();
                            });
                }))
                .hasStackTraceContaining(file + ": cannot be written");
        assertThat(steps).hasValue(0);
    }
}
