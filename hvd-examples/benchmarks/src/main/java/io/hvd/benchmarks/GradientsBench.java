package io.hvd.benchmarks;

import io.hvd.benchmarks.rank.GradientBag;
import io.hvd.benchmarks.rank.GradientsRank;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Bags of gradients, submitted last layer first, until all are averaged. */
final class GradientsBench implements Benchmark {
    /** What stands behind each opponent's name. */
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
        return "ResNet-50's 161 gradients and 400 tensors of 4 KiB, last layer first, until all are averaged."
                + " --only takes the name of a bag; --sizes is without effect.";
    }

    @Override
    public Plan usual() {
        return new Plan(List.of(2, 4), List.of(), 30, 3);
    }

    @Override
    public Plan quick() {
        return new Plan(List.of(2), List.of(), 8, 1);
    }

    @Override
    public void run(Plan plan, Progress progress, Consumer<Result> results) throws IOException, InterruptedException {
        List<MpiSetting> settings = plan.repeat() == 1 ? List.of(MpiSetting.DEFAULT) : MpiSetting.FEW;
        for (int ranks : plan.ranks()) {
            for (GradientBag bag : GradientBag.ALL.stream()
                    .filter(each -> plan.wants(each.name()))
                    .toList()) {
                run(ranks, bag, settings, plan, progress).forEach(results);
            }
        }
    }

    private static List<Result> run(int ranks, GradientBag bag, List<MpiSetting> settings, Plan plan, Progress progress)
            throws IOException, InterruptedException {
        Map<MpiSetting, Samples> runs = Launch.inTurn(
                bag.name() + ", " + ranks + " ranks",
                settings,
                plan.repeat(),
                progress,
                setting -> launch(ranks, bag, setting, plan, progress));
        List<Result> results = new ArrayList<>();
        runs.forEach((setting, run) -> results.addAll(results(ranks, bag, run, setting)));
        return results;
    }

    /** Gloo knows nothing of Open MPI's settings, and runs beside the usual one only. */
    private static Samples launch(int ranks, GradientBag bag, MpiSetting setting, Plan plan, Progress progress)
            throws IOException, InterruptedException {
        String rounds = Integer.toString(plan.rounds());
        Samples ours =
                Launch.mpirun(ranks, setting, GradientsRank.class, bag.name(), rounds, GradientsRank.HVD_AND_MPI);
        return setting == MpiSetting.DEFAULT
                ? Launch.with(
                        ours,
                        "Gloo",
                        progress,
                        () -> Launch.unbound(ranks, GradientsRank.class, bag.name(), rounds, GradientsRank.GLOO))
                : ours;
    }

    private static List<Result> results(int ranks, GradientBag bag, Samples run, MpiSetting setting) {
        List<Result> results = new ArrayList<>();
        for (String ours : List.of("heap", "torch", "heap-prepared", "torch-prepared")) {
            OPPONENTS.forEach((series, how) -> {
                if (run.has(series)) {
                    String opponent = series.startsWith("mpi")
                            ? run.about("mpi") + "[" + setting.name() + "," + how + "]"
                            : run.about("gloo") + "[not-bound," + how + "]";
                    results.add(new Result(
                                    "gradients-" + bag.name() + "-" + ours,
                                    ranks,
                                    bag.bytes(),
                                    run.spread("hvd-" + ours, bag.bytes()),
                                    opponent,
                                    run.spread(series, bag.bytes()))
                            .with("ours", run.about("hvd")));
                }
            });
        }
        return results;
    }
}
