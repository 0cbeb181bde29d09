package io.hvd.benchmarks.rank;

import io.hvd.Hvd;
import io.hvd.benchmarks.Samples;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.bytedeco.javacpp.PointerScope;

/**
 * A trainer of one step, which records when init and the step had ended. Arguments: folder, and {@code hvd} or, for
 * LibTorch alone, {@code plain}.
 */
public final class StartRank {
    private StartRank() {}

    public static void main(String[] args) {
        Samples samples = new Samples();
        if (args[1].equals("hvd")) {
            Hvd.init();
            samples.add("init", 0, now());
        }
        try (BenchTrainer trainer = BenchTrainer.of(args[1], Net.MNIST, Path.of(args[0]));
                PointerScope scope = new PointerScope()) {
            trainer.step();
            samples.add("step", 0, now());
            samples.write(
                    Path.of(args[0]),
                    args[1].equals("hvd")
                            ? Hvd.rank()
                            : PlaceInJob.ofThisProcess().rank());
        }
    }

    /** The time in microseconds since 1970, by the clock that all processes of this host share. */
    private static double now() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }
}
