package io.hvd.benchmarks.rank;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.benchmarks.Samples;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.bytedeco.javacpp.PointerScope;

/** A trainer of one step, which notes when init and the step had ended. Argument: folder. */
public final class StartRank {
    private StartRank() {}

    public static void main(String[] args) {
        Samples samples = new Samples();
        HvdContext hvd = Hvd.init();
        samples.add("init", 0, now());
        try (Trainer trainer = Trainer.of("hvd", Net.MNIST, Path.of(args[0]));
                PointerScope scope = new PointerScope()) {
            trainer.step();
            samples.add("step", 0, now());
            samples.write(Path.of(args[0]), hvd.rank());
        }
    }

    /** Microseconds since 1970, on the clock that all processes of this host share. */
    private static double now() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }
}
