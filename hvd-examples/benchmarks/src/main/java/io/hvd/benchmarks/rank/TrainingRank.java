package io.hvd.benchmarks.rank;

import io.hvd.benchmarks.Samples;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;

/**
 * One rank that trains the same net in several ways, in turn: one process computes up to a quarter faster than the next
 * one, for as long as it lives, so that processes compare only with themselves. Arguments:
 * folder, ways divided by commas, net, steps that are timed of each. All ranks begin each turn together, so that they take
 * each other's cores as long as the timing lasts.
 */
public final class TrainingRank {
    /** The JIT's last stage comes after 5,000 calls, and who communicates does much once a step only. */
    private static final int WARM_STEPS_PER_STEP = 20;
    /** LibTorch alone is called dozens of times a step. */
    private static final int WARM_STEPS_PER_STEP_ALONE = 7;

    private static final int TURNS = 10;

    private TrainingRank() {}

    public static void main(String[] args) {
        Path folder = Path.of(args[0]);
        Net net = Net.valueOf(args[2]);
        int steps = Integer.parseInt(args[3]);
        Job job = Job.ofThisProcess();
        Gate gate = new Gate(folder, job);
        Samples samples = new Samples();
        samples.about("torch", Gloo.torchVersion());
        Map<String, Trainer> trainers = new LinkedHashMap<>();
        for (String way : args[1].split(",")) {
            trainers.put(way, Trainer.of(way, net, folder));
        }
        trainers.values().forEach(trainer -> train(trainer, warmSteps(trainer) * steps));
        int stepsOfTurn = Math.max(1, steps / TURNS);
        for (int turn = 0; turn < TURNS; turn++) {
            for (Map.Entry<String, Trainer> way : trainers.entrySet()) {
                gate.pass(way.getKey() + turn);
                long begun = System.nanoTime();
                train(way.getValue(), stepsOfTurn);
                samples.add(way.getKey(), net.bytes(), (System.nanoTime() - begun) / 1e3 / stepsOfTurn);
            }
        }
        trainers.values().forEach(Trainer::close);
        samples.write(folder, job.rank());
    }

    private static int warmSteps(Trainer trainer) {
        return trainer.communicates() ? WARM_STEPS_PER_STEP : WARM_STEPS_PER_STEP_ALONE;
    }

    private static void train(Trainer trainer, int steps) {
        for (int i = 0; i < steps; i++) {
            try (PointerScope scope = new PointerScope()) {
                trainer.step();
            }
        }
    }
}
