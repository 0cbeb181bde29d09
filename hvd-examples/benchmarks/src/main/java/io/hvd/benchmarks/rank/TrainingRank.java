package io.hvd.benchmarks.rank;

import io.hvd.benchmarks.Samples;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;

/**
 * One rank that trains the same net in several ways, in turn. They take turns in one process, because one process may
 * compute up to a quarter faster than another one, for as long as it lives. All ranks begin each turn together, so that
 * all of them use their cores during the whole timing. Arguments: folder, ways separated by commas, net, number of
 * timed steps of each way.
 */
public final class TrainingRank {
    /** The warm-up steps for each timed step: the JIT's last tier needs 5,000 calls of code that runs once per step. */
    private static final int WARM_STEPS_PER_STEP = 20;
    /** The warm-up steps of LibTorch alone, which needs fewer because its calls are made dozens of times per step. */
    private static final int WARM_STEPS_PER_STEP_ALONE = 7;

    private static final int TURNS = 10;
    /**
     * The steps before each turn of hvd's. As other ways of hvd's had the turns before, its ranks negotiate for
     * ten steps, and after 32 more rank 0 may change the batches. A program with one optimizer does both once.
     */
    private static final int SETTLING_STEPS = 50;

    private TrainingRank() {}

    public static void main(String[] args) {
        Path folder = Path.of(args[0]);
        Net net = Net.valueOf(args[2]);
        int steps = Integer.parseInt(args[3]);
        PlaceInJob job = PlaceInJob.ofThisProcess();
        StartBarrier start = new StartBarrier(folder, job);
        Samples samples = new Samples();
        samples.about("torch", Gloo.torchVersion());
        Map<String, BenchTrainer> trainers = new LinkedHashMap<>();
        for (String way : args[1].split(",")) {
            trainers.put(way, BenchTrainer.of(way, net, folder));
        }
        trainers.values().forEach(trainer -> train(trainer, warmSteps(trainer) * steps));
        int stepsOfTurn = Math.max(1, steps / TURNS);
        for (int turn = 0; turn < TURNS; turn++) {
            for (Map.Entry<String, BenchTrainer> way : trainers.entrySet()) {
                train(way.getValue(), way.getValue().negotiates() ? SETTLING_STEPS : 1);
                start.await(way.getKey() + turn);
                long begun = System.nanoTime();
                train(way.getValue(), stepsOfTurn);
                samples.add(way.getKey(), net.bytes(), (System.nanoTime() - begun) / 1e3 / stepsOfTurn);
            }
        }
        trainers.values().forEach(BenchTrainer::close);
        samples.write(folder, job.rank());
    }

    private static int warmSteps(BenchTrainer trainer) {
        return trainer.communicates() ? WARM_STEPS_PER_STEP : WARM_STEPS_PER_STEP_ALONE;
    }

    private static void train(BenchTrainer trainer, int steps) {
        for (int i = 0; i < steps; i++) {
            try (PointerScope scope = new PointerScope()) {
                trainer.step();
            }
        }
    }
}
