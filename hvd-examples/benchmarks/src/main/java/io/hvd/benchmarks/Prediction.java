package io.hvd.benchmarks;

import io.hvd.benchmarks.cost.Algorithm;
import io.hvd.benchmarks.cost.CostModel;
import io.hvd.benchmarks.cost.JobShape;
import io.hvd.benchmarks.cost.Step;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Predicts with a model how long a step takes with 2 to 256 ranks. */
record Prediction(CostModel model, ModelPlan asked, List<JobShape> shapes) {
    private static final int MOST_RANKS = 256;
    /** The default of HOROVOD_FUSION_THRESHOLD. */
    private static final long FUSION_BYTES = 128 << 20;

    private static final String ROW = "%6s %6s %10s %14s %11s %11s  %s%n";

    static Prediction of(CostModel model, ModelPlan asked) {
        List<JobShape> shapes = new ArrayList<>();
        for (int ranks = 2; ranks <= MOST_RANKS; ranks *= 2) {
            shapes.add(new JobShape(ranks, (ranks + asked.ranksPerHost() - 1) / asked.ranksPerHost()));
        }
        return new Prediction(model, asked, shapes);
    }

    /** The predictions, which it also prints as a table. */
    List<Result> printed() {
        System.out.printf(
                Locale.ROOT, ROW, "ranks", "hosts", "step ms", "allreduce ms", "exposed ms", "efficiency", "way");
        return shapes.stream().map(this::printed).toList();
    }

    private Result printed(JobShape shape) {
        double compute = asked.step().computeSeconds();
        Step.Forecast forecast = asked.step().at(shape, model, FUSION_BYTES);
        Algorithm way = model.fastest(shape.ranks(), shape.hosts(), asked.gradientBytes());
        System.out.printf(
                Locale.ROOT,
                ROW,
                shape.ranks(),
                shape.hosts(),
                Result.number(forecast.stepSeconds() * 1e3),
                Result.number(forecast.allreduceSeconds() * 1e3),
                Result.number(forecast.exposedSeconds() * 1e3),
                Result.number(forecast.efficiency(compute)),
                way.word());
        return new Result(
                        "model-step",
                        shape.ranks(),
                        asked.gradientBytes(),
                        forecast.stepSeconds() * 1e6,
                        "one-rank[ratio=efficiency]",
                        compute * 1e6,
                        Map.of())
                .with("hosts", Integer.toString(shape.hosts()))
                .with("allreduce_us", forecast.allreduceSeconds() * 1e6)
                .with("exposed_us", forecast.exposedSeconds() * 1e6)
                .with("way", way.word());
    }
}
