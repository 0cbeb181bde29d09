package io.hvd.benchmarks;

import io.hvd.benchmarks.rank.ScaleProgram;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Times the engine itself, with ranks as threads: a step that follows the static plan against one that is negotiated.
 */
final class ScaleBench implements Benchmark {
    private static final String STEPS = "HVD_STATIC_PLAN_STEPS";
    private static final int BYTES_OF_ONE = 256;

    @Override
    public String name() {
        return "scale";
    }

    @Override
    public String summary() {
        return "Times a step of the engine with many ranks as threads of one JVM, with its static plan and negotiated."
                + " --sizes is the numbers of tensors of 256 bytes, --rounds the number of steps.";
    }

    @Override
    public MeasurementPlan usual() {
        return new MeasurementPlan(List.of(2, 4, 8, 16, 32, 64, 128, 256), List.of(1L, 16L, 128L), 60, 3);
    }

    @Override
    public MeasurementPlan quick() {
        return new MeasurementPlan(List.of(2, 8, 32), List.of(1L, 16L), 30, 1);
    }

    @Override
    public void run(MeasurementPlan plan, Progress progress, Consumer<Result> results)
            throws IOException, InterruptedException {
        for (long tensors : plan.sizes()) {
            for (int ranks : plan.ranks()) {
                progress.say(ranks + " ranks as threads, " + tensors + " tensors");
                results.accept(measure(ranks, tensors, plan));
            }
        }
    }

    private static Result measure(int ranks, long tensors, MeasurementPlan plan)
            throws IOException, InterruptedException {
        List<Samples> fixed = new ArrayList<>();
        List<Samples> negotiated = new ArrayList<>();
        for (int launch = 0; launch < plan.repeat(); launch++) {
            fixed.add(launch(Map.of(), ranks, tensors, plan));
            negotiated.add(launch(Map.of(STEPS, "0"), ranks, tensors, plan));
        }
        long bytes = tensors * BYTES_OF_ONE;
        Samples ours = Samples.together(fixed);
        Samples theirs = Samples.together(negotiated);
        double step = ours.spread("step", bytes).median();
        double cpu = ours.spread("cpu", bytes).median();
        double negotiatedCpu = theirs.spread("cpu", bytes).median();
        return new Result(
                        "scale-" + tensors + "-tensors",
                        ranks,
                        bytes,
                        ours.spread("step", bytes),
                        "hvd[" + STEPS + "=0]",
                        theirs.spread("step", bytes))
                .with("per_log2_us", step * Math.log(2) / Math.log(ranks))
                .with("cpu_us_per_rank", cpu / ranks)
                .with("opponent_cpu_us_per_rank", negotiatedCpu / ranks)
                .withOthers(Samples.together(List.of(ours, theirs)).othersPercent());
    }

    private static Samples launch(Map<String, String> environment, int ranks, long tensors, MeasurementPlan plan)
            throws IOException, InterruptedException {
        return RankLaunch.alone(
                environment,
                ScaleProgram.class,
                Integer.toString(ranks),
                Long.toString(tensors),
                Integer.toString(plan.rounds()));
    }
}
