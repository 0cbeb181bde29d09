package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What {@link ArrayParameters} says of {@code double[]}: an optimizer of one's own, and all else works as with {@code float[]}. */
@Timeout(60)
class DoubleParametersTest {
    /** Plain gradient descent on doubles. */
    private static final class Descent implements Optimizer {
        private final double[] value;
        private final double[] gradient;
        private double rate;

        private Descent(double rate, double[] value, double... gradient) {
            this.value = value;
            this.gradient = gradient;
            this.rate = rate;
        }

        @Override
        public List<Parameter> parameters() {
            return List.of(new Parameter("w", Tensor.of(value), Tensor.of(gradient)));
        }

        @Override
        public void step() {
            for (int i = 0; i < value.length; i++) {
                value[i] -= rate * gradient[i];
            }
        }

        @Override
        public void zeroGradients() {
            Arrays.fill(gradient, 0);
        }

        @Override
        public double learningRate() {
            return rate;
        }

        @Override
        public void learningRate(double newRate) {
            rate = newRate;
        }

        @Override
        public byte[] saveState() {
            return ByteBuffer.allocate(Double.BYTES).putDouble(rate).array();
        }

        @Override
        public void loadState(byte[] state) {
            rate = ByteBuffer.wrap(state).getDouble();
        }
    }

    /** Less than float32 can tell from 1. */
    private static final double FINE = 0x1p-40;

    @Test
    void doublesAreBroadcastAveragedClippedAndSavedWithAllTheirBits(@TempDir Path folder) {
        Hvd.spawn(2, hvd -> {
            double[] values = {hvd.rank() == 0 ? 1 + FINE : 7, 5};
            double[] gradient = {3 + 2 * FINE * hvd.rank(), 0};
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Descent(0.5, values, gradient))
                    .clipGradientNorm(1.5)
                    .build();
            optimizer.broadcastParameters(0);
            assertThat(values).containsExactly(1 + FINE, 5);

            optimizer.synchronize();
            assertThat(gradient).containsExactly(3 + FINE, 0);
            try (var skip = optimizer.skipSynchronize()) {
                optimizer.step();
            }
            assertThat(optimizer.lastGradientNorm()).isEqualTo(3 + FINE);
            assertThat(gradient[0]).isCloseTo(1.5, within(1e-6));
            assertThat(values[0]).isEqualTo(1 + FINE - 0.5 * gradient[0]);

            Path file = folder.resolve("rank" + hvd.rank() + ".safetensors");
            save(file, values);
            assertThat(read(file)).isEqualTo(values);
            optimizer.close();
            return null;
        });
    }

    private static void save(Path file, double... values) throws IOException {
        new Checkpoint(new TreeMap<>(Map.of("w", Tensor.of(values))), Map.of()).write(file);
    }

    private static double[] read(Path file) throws IOException {
        return (double[]) Checkpoint.read(file).tensors().get("w").toArray();
    }
}
