package io.hvd.benchmarks;

import io.hvd.benchmarks.rank.AllreduceRank;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Times allreduce from 4 bytes to 256 MiB: hvd's collective on direct memory and on an array, and a blocking call
 * through the whole engine. The opponents are mpi.jar with each setting of Open MPI, the best of these settings for
 * each size, and Gloo.
 */
final class AllreduceBench implements Benchmark {
    /** The opponent that shows what the engine adds to a call. */
    private static final String RAW_COLLECTIVE = "hvd[raw-collective]";

    @Override
    public String name() {
        return "allreduce";
    }

    @Override
    public String summary() {
        return "Times allreduce by size, against mpi.jar under eight settings of Open MPI (three with --repeat 1), under its"
                + " components xhc and acoll where it has them, and against Gloo; from Java 22 on, also MPI by"
                + " foreign functions against mpi.jar. --only takes part of the name of a setting.";
    }

    @Override
    public MeasurementPlan usual() {
        List<Long> sizes = new ArrayList<>();
        for (long bytes = 4; bytes <= 256L << 20; bytes *= 4) {
            sizes.add(bytes);
        }
        return new MeasurementPlan(List.of(2, 4), sizes, 10, 3);
    }

    @Override
    public MeasurementPlan quick() {
        return new MeasurementPlan(List.of(2), List.of(4L, 1L << 10, 64L << 10, 1L << 20, 16L << 20), 5, 1);
    }

    @Override
    public void run(MeasurementPlan plan, Progress progress, Consumer<Result> results)
            throws IOException, InterruptedException {
        List<MpiSetting> settings = (plan.repeat() == 1 ? MpiSetting.FEW : MpiSetting.ALL)
                .stream().filter(each -> plan.wants(each.name())).toList();
        for (int ranks : plan.ranks()) {
            String what = "allreduce, " + ranks + " ranks";
            Map<MpiSetting, Samples> runs = RankLaunch.inTurn(
                    what, settings, plan.repeat(), progress, setting -> launch(ranks, setting, plan, progress));
            for (long bytes : plan.sizes()) {
                results(ranks, bytes, runs).forEach(results);
            }
        }
    }

    /** One launch. The engine and Gloo do not depend on Open MPI's settings, so they run only with the default one. */
    private static Samples launch(int ranks, MpiSetting setting, MeasurementPlan plan, Progress progress)
            throws IOException, InterruptedException {
        String sizes = plan.sizesInWords();
        String rounds = Integer.toString(plan.rounds());
        if (setting != MpiSetting.DEFAULT) {
            return RankLaunch.mpirun(ranks, setting, AllreduceRank.class, sizes, rounds, AllreduceRank.RAW);
        }
        Samples ours = RankLaunch.mpirun(
                ranks, setting, AllreduceRank.class, sizes, rounds, AllreduceRank.RAW, AllreduceRank.ENGINE);
        return RankLaunch.with(
                ours,
                "Gloo",
                progress,
                () -> RankLaunch.unbound(ranks, AllreduceRank.class, sizes, rounds, AllreduceRank.GLOO));
    }

    private static List<Result> results(int ranks, long bytes, Map<MpiSetting, Samples> runs) {
        List<Result> results = new ArrayList<>();
        runs.forEach((setting, run) -> results.add(raw(ranks, bytes, run, setting.name())));
        best(bytes, runs, "mpi").ifPresent(best -> {
            Samples run = runs.get(best);
            String name = "best:" + best.name();
            results.add(raw(ranks, bytes, run, name));
        });
        best(bytes, runs, "mpi-heap").ifPresent(best -> {
            Samples run = runs.get(best);
            results.add(heap(ranks, bytes, run, "best:" + best.name()));
        });
        Samples usual = runs.get(MpiSetting.DEFAULT);
        if (usual != null) {
            results.add(heap(ranks, bytes, usual, "default"));
            results.add(result("allreduce-engine", "engine", "mpi", ranks, bytes, usual, named(usual, "default")));
            if (usual.has("alone")) {
                results.add(added(ranks, bytes, usual));
            }
            results.add(compressed(ranks, bytes, usual));
        }
        if (usual != null && usual.has(Samples.FOREIGN)) {
            results.add(foreign(ranks, bytes, usual));
        }
        if (usual != null && usual.has("gloo")) {
            results.add(
                    result("allreduce-raw", "raw", "gloo", ranks, bytes, usual, usual.about("gloo") + "[not-bound]"));
            results.add(result(
                    "allreduce-engine", "engine", "gloo", ranks, bytes, usual, usual.about("gloo") + "[not-bound]"));
        }
        return results;
    }

    private static Optional<MpiSetting> best(long bytes, Map<MpiSetting, Samples> runs, String series) {
        return runs.keySet().stream()
                .min(Comparator.comparingDouble(
                        setting -> runs.get(setting).spread(series, bytes).median()));
    }

    private static Result raw(int ranks, long bytes, Samples run, String setting) {
        return result("allreduce-raw", "raw", "mpi", ranks, bytes, run, named(run, setting))
                .withPairs(run.ratios("raw", "mpi", bytes));
    }

    private static Result heap(int ranks, long bytes, Samples run, String setting) {
        String opponent = "pack+" + named(run, setting) + "+unpack";
        return result("allreduce-heap", "heap", "mpi-heap", ranks, bytes, run, opponent)
                .withPairs(run.ratios("heap", "mpi-heap", bytes));
    }

    /** One call of MPI by foreign functions and by mpi.jar, in the same processes. */
    private static Result foreign(int ranks, long bytes, Samples run) {
        return result("allreduce-foreign", Samples.FOREIGN, "mpi", ranks, bytes, run, named(run, "default"))
                .withPairs(run.ratios(Samples.FOREIGN, "mpi", bytes))
                .with("ours", "mpi[foreign-functions]");
    }

    /** The time that the engine adds to the collective. */
    private static Result added(int ranks, long bytes, Samples run) {
        return result("allreduce-engine", "engine", "alone", ranks, bytes, run, RAW_COLLECTIVE)
                .withPairs(run.ratios("engine", "alone", bytes));
    }

    /** The engine with compression against the engine without. */
    private static Result compressed(int ranks, long bytes, Samples run) {
        return result("allreduce-fp16", "fp16", "plain", ranks, bytes, run, "hvd[uncompressed]")
                .withPairs(run.ratios("fp16", "plain", bytes))
                .with("wire", "float16");
    }

    private static String named(Samples run, String setting) {
        return run.about("mpi") + "[" + setting + "]";
    }

    /**
     * A result with the bandwidths of OSU's and of NCCL's tests: bytes divided by time, and the least bytes that a rank
     * must send divided by time.
     */
    private static Result result(
            String bench, String ours, String theirs, int ranks, long bytes, Samples run, String opponent) {
        Spread mine = run.spread(ours, bytes);
        Spread other = run.spread(theirs, bytes);
        double perByte = 2.0 * (ranks - 1) / ranks;
        return new Result(bench, ranks, bytes, mine, opponent, other)
                .with("algbw_gbs", bytes / mine.median() / 1e3)
                .with("busbw_gbs", perByte * bytes / mine.median() / 1e3)
                .with("opponent_algbw_gbs", bytes / other.median() / 1e3)
                .with("opponent_busbw_gbs", perByte * bytes / other.median() / 1e3)
                .with("ours", run.about("raw"))
                .withLaunches(run.launchRatios(ours, theirs, bytes))
                .withOthers(run.othersPercent());
    }
}
