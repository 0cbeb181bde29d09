package io.hvd.benchmarks.rank;

import io.hvd.benchmarks.Samples;
import java.nio.file.Path;
import org.bytedeco.javacpp.PointerScope;

/**
 * One rank, or one process on its own, that trains. Arguments: folder, way, net, steps that are timed. All begin to be timed
 * together, so that they take each other's cores as long as the timing lasts.
 */
public final class TrainingRank {
    /** What is called some hundred times a second reaches the JIT's last stage after twenty seconds. */
    private static final int WARM_STEPS_PER_STEP = 7;

    private TrainingRank() {}

    public static void main(String[] args) {
        Path folder = Path.of(args[0]);
        Net net = Net.valueOf(args[2]);
        int steps = Integer.parseInt(args[3]);
        Job job = Job.ofThisProcess();
        Samples samples = new Samples();
        samples.about("torch", Gloo.torchVersion());
        try (Trainer trainer = Trainer.of(args[1], net, folder)) {
            train(trainer, WARM_STEPS_PER_STEP * steps);
            new Gate(folder, job).pass("warm");
            long begun = System.nanoTime();
            train(trainer, steps);
            samples.add(args[1], net.bytes(), (System.nanoTime() - begun) / 1e3 / steps);
        }
        samples.write(folder, job.rank());
    }

    private static void train(Trainer trainer, int steps) {
        for (int i = 0; i < steps; i++) {
            try (PointerScope scope = new PointerScope()) {
                trainer.step();
            }
        }
    }
}
