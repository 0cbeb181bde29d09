package io.hvd.benchmarks;

import static io.hvd.benchmarks.rank.NetworkRank.BESIDE_THREADS;
import static io.hvd.benchmarks.rank.NetworkRank.OVER_TCP;

import io.hvd.benchmarks.rank.NetworkRank;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Times collectives between hosts: allreduce in float32, over MPI and over TCP, and as fp16, against mpi.jar, Gloo, and plain
 * TCP that moves as many bytes; broadcast, allgather, reduce-scatter and alltoall against mpi.jar.
 */
final class NetworkBench implements Benchmark {
    @Override
    public String name() {
        return "network";
    }

    @Override
    public String summary() {
        return "Times allreduce, broadcast, allgather, reduce-scatter and alltoall between the hosts of --hosts, against mpi.jar"
                + " under several settings of Open MPI (one with --quick); allreduce also as fp16, without MPI, and against"
                + " Gloo and plain TCP in both directions at once; from Java 22 on, also MPI by foreign functions against"
                + " mpi.jar. bench.jar and Java must have the same paths on all hosts. --ranks has no"
                + " effect; the number of ranks comes from --hosts.";
    }

    @Override
    public Map<String, String> ownFlags() {
        return Map.of(
                "hosts", "hosts and their ranks, such as a:1,b:1; default localhost:2",
                "adder", "what adds in hvd: java, or openblas as in a training with LibTorch; default java");
    }

    private static String hosts(MeasurementPlan plan) {
        return plan.own().getOrDefault("hosts", "localhost:2");
    }

    @Override
    public MeasurementPlan usual() {
        return new MeasurementPlan(List.of(2), List.of(4L, 4L << 10, 64L << 10, 1L << 20, 8L << 20, 64L << 20), 10, 1);
    }

    @Override
    public MeasurementPlan quick() {
        return new MeasurementPlan(
                List.of(2), List.of(64L << 10, 1L << 20, 8L << 20), 5, 1, "default", "horovodrun", Map.of());
    }

    @Override
    public void run(MeasurementPlan plan, Progress progress, Consumer<Result> results)
            throws IOException, InterruptedException {
        int ranks = ranks(hosts(plan));
        List<MpiSetting> settings = MpiSetting.NETWORK.stream()
                .filter(each -> plan.wants(each.name()))
                .toList();
        Map<MpiSetting, Samples> runs = RankLaunch.inTurn(
                "network, " + hosts(plan), settings, plan.repeat(), progress, setting -> launch(ranks, setting, plan));
        for (long bytes : plan.sizes()) {
            results(ranks, bytes, runs).forEach(results);
        }
    }

    private static Samples launch(int ranks, MpiSetting setting, MeasurementPlan plan)
            throws IOException, InterruptedException {
        List<String> words =
                new ArrayList<>(List.of(plan.launcher(), "-np", Integer.toString(ranks), "-H", hosts(plan)));
        if (!setting.arguments().isEmpty()) {
            words.add("--mpi-args=" + String.join(" ", setting.arguments()));
        }
        return RankLaunch.hosts(
                ranks,
                words,
                NetworkRank.class,
                plan.sizesInWords(),
                Integer.toString(plan.rounds()),
                plan.own().getOrDefault("adder", "java"));
    }

    private static int ranks(String hosts) throws IOException {
        try {
            return Arrays.stream(hosts.split(","))
                    .mapToInt(host -> Integer.parseInt(host.substring(host.indexOf(':') + 1)))
                    .sum();
        } catch (NumberFormatException e) {
            throw new IOException("--hosts has \"" + hosts + "\", expected hosts with their ranks, such as a:1,b:1");
        }
    }

    private static List<Result> results(int ranks, long bytes, Map<MpiSetting, Samples> runs) {
        List<Result> results = new ArrayList<>();
        for (Collective collective : Collective.values()) {
            results.addAll(againstMpi(collective, ranks, bytes, runs));
        }
        runs.forEach((setting, run) -> results.addAll(foreign(ranks, bytes, run, "[" + setting.name() + "]")));
        if (!runs.isEmpty()) {
            results.addAll(againstOthers(ranks, bytes, Samples.together(runs.values())));
        }
        return results;
    }

    private static List<Result> againstMpi(
            Collective collective, int ranks, long bytes, Map<MpiSetting, Samples> runs) {
        List<Result> results = new ArrayList<>();
        String ours = collective.series();
        runs.forEach((setting, run) ->
                results.add(mpi(collective, ours, ranks, bytes, run, "[" + setting.name(collective) + "]")));
        runs.keySet().stream()
                .min(Comparator.comparingDouble(setting ->
                        runs.get(setting).spread(collective.mpiSeries(), bytes).median()))
                .ifPresent(best -> {
                    Samples run = runs.get(best);
                    String name = "[best:" + best.name(collective) + "]";
                    results.add(mpi(collective, ours, ranks, bytes, run, name));
                    if (collective == Collective.ALLREDUCE) {
                        results.add(mpi(collective, OVER_TCP, ranks, bytes, run, name));
                    } else if (collective == Collective.ALLTOALL) {
                        results.add(mpi(collective, OVER_TCP + "-" + ours, ranks, bytes, run, name));
                    }
                });
        return results;
    }

    /** One call of MPI by foreign functions and by mpi.jar, in the same processes. */
    private static List<Result> foreign(int ranks, long bytes, Samples run, String setting) {
        if (!run.has(Samples.FOREIGN)) {
            return List.of();
        }
        Collective allreduce = Collective.ALLREDUCE;
        return List.of(mpi(allreduce, Samples.FOREIGN, ranks, bytes, run, setting)
                .withPairs(run.ratios(Samples.FOREIGN, allreduce.mpiSeries(), bytes))
                .with("ours", "mpi[foreign-functions]"));
    }

    private static Result mpi(Collective collective, String ours, int ranks, long bytes, Samples run, String setting) {
        String opponent = run.about("mpi") + setting;
        return result(collective, ranks, bytes, run, ours, collective.mpiSeries(), opponent);
    }

    private static List<Result> againstOthers(int ranks, long bytes, Samples all) {
        Collective allreduce = Collective.ALLREDUCE;
        String plain = "tcp[both-ways]";
        String over = OVER_TCP + BESIDE_THREADS;
        Result half = result(allreduce, ranks, bytes, all, "fp16", allreduce.series(), all.about("hvd") + "[float32]");
        return List.of(
                result(allreduce, ranks, bytes, all, allreduce.series() + BESIDE_THREADS, "tcp", plain),
                half.with("share_of_float32", 1 / half.ratio()),
                result(allreduce, ranks, bytes, all, over, "tcp", plain),
                result(allreduce, ranks, bytes, all, over, "gloo", all.about("gloo")));
    }

    /** A result with the bandwidth of each rank's link in each direction, if a rank sends no more than it must. */
    private static Result result(
            Collective collective, int ranks, long bytes, Samples run, String ours, String theirs, String opponent) {
        Spread mine = run.spread(ours, bytes);
        Spread other = run.spread(theirs, bytes);
        double sent = collective.leastSent(ranks, bytes);
        return new Result("network-" + ours.replace(BESIDE_THREADS, ""), ranks, bytes, mine, opponent, other)
                .with("busbw_gbs", sent / mine.median() / 1e3)
                .with("opponent_busbw_gbs", sent / other.median() / 1e3)
                .with("ours", run.about(ours.startsWith(OVER_TCP) ? OVER_TCP : "hvd"))
                .withLaunches(run.launchRatios(ours, theirs, bytes));
    }
}
