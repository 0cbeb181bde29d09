package io.hvd.benchmarks;

import io.hvd.benchmarks.rank.GradientSet;
import io.hvd.benchmarks.rank.GradientsRank;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Times sets of gradients, submitted from the last layer on, until all of them are averaged. */
final class GradientsBench implements Benchmark {
    /** The name of each opponent in results, by the name of its series. */
    private static final Map<String, String> OPPONENTS = opponents();

    private static Map<String, String> opponents() {
        Map<String, String> opponents = new LinkedHashMap<>();
        opponents.put("mpi-each", "one-call-per-tensor");
        opponents.put("mpi-one", "one-buffer-nothing-packed");
        opponents.put("mpi-packed", "pack+one-buffer+unpack");
        opponents.put("gloo-each", "one-call-per-tensor");
        opponents.put("gloo-coalesced", "coalesced");
        return opponents;
    }

    @Override
    public String name() {
        return "gradients";
    }

    @Override
    public String summary() {
        return "Times the averaging of ResNet-50's 161 gradients and of 400 tensors of 4 KiB, from the last layer on."
                + " --only takes resnet50, 400x4KiB or 64x16MiB, which is not timed otherwise; --sizes has no effect.";
    }

    @Override
    public MeasurementPlan usual() {
        return new MeasurementPlan(List.of(2, 4), List.of(), 30, 3);
    }

    @Override
    public MeasurementPlan quick() {
        return new MeasurementPlan(List.of(2), List.of(), 8, 1);
    }

    @Override
    public void run(MeasurementPlan plan, Progress progress, Consumer<Result> results)
            throws IOException, InterruptedException {
        List<MpiSetting> settings = plan.repeat() == 1 ? List.of(MpiSetting.DEFAULT) : MpiSetting.FEW;
        for (int ranks : plan.ranks()) {
            for (GradientSet gradients : wanted(plan)) {
                run(ranks, gradients, settings, plan, progress).forEach(results);
            }
        }
    }

    private static List<GradientSet> wanted(MeasurementPlan plan) {
        return plan.only().equals(GradientSet.LARGE.name())
                ? List.of(GradientSet.LARGE)
                : GradientSet.USUAL.stream()
                        .filter(each -> plan.wants(each.name()))
                        .toList();
    }

    private static List<Result> run(
            int ranks, GradientSet gradients, List<MpiSetting> settings, MeasurementPlan plan, Progress progress)
            throws IOException, InterruptedException {
        Map<MpiSetting, Samples> runs = RankLaunch.inTurn(
                gradients.name() + ", " + ranks + " ranks",
                settings,
                plan.repeat(),
                progress,
                setting -> launch(ranks, gradients, setting, plan, progress));
        List<Result> results = new ArrayList<>();
        runs.forEach((setting, run) -> results.addAll(results(ranks, gradients, run, setting)));
        return results;
    }

    /** One launch. Gloo does not depend on Open MPI's settings, so it runs only with the default one. */
    private static Samples launch(
            int ranks, GradientSet gradients, MpiSetting setting, MeasurementPlan plan, Progress progress)
            throws IOException, InterruptedException {
        String rounds = Integer.toString(plan.rounds());
        Samples ours = RankLaunch.mpirun(
                ranks, setting, GradientsRank.class, gradients.name(), rounds, GradientsRank.HVD_AND_MPI);
        return setting == MpiSetting.DEFAULT
                ? RankLaunch.with(
                        ours,
                        "Gloo",
                        progress,
                        () -> RankLaunch.unbound(
                                ranks, GradientsRank.class, gradients.name(), rounds, GradientsRank.GLOO))
                : ours;
    }

    private static List<Result> results(int ranks, GradientSet gradients, Samples run, MpiSetting setting) {
        List<Result> results = new ArrayList<>();
        for (String ours : List.of("heap", "torch", "heap-prepared", "torch-prepared")) {
            OPPONENTS.keySet().stream()
                    .filter(run::has)
                    .forEach(opponent -> results.add(result(ranks, gradients, run, setting, ours, opponent)));
        }
        return results;
    }

    private static Result result(
            int ranks, GradientSet gradients, Samples run, MpiSetting setting, String ours, String opponent) {
        boolean inOneLaunch = opponent.startsWith("mpi");
        String series = "hvd-" + ours;
        long bytes = gradients.bytes();
        String how = OPPONENTS.get(opponent);
        return new Result(
                        "gradients-" + gradients.name() + "-" + ours,
                        ranks,
                        bytes,
                        run.spread(series, bytes),
                        inOneLaunch
                                ? run.about("mpi") + "[" + setting.name() + "," + how + "]"
                                : run.about("gloo") + "[not-bound," + how + "]",
                        run.spread(opponent, bytes))
                .with("ours", run.about("hvd"))
                .with("memory_percent", 100 * run.spread("hvd-memory", bytes).median() / bytes)
                .withLaunches(run.launchRatios(series, opponent, bytes))
                .withOthers(run.othersPercent());
    }
}
