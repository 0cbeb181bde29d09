package io.hvd.benchmarks;

import io.hvd.benchmarks.rank.Net;
import io.hvd.benchmarks.rank.TrainingRank;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Times the training of images: hvd against LibTorch in processes that do not communicate, against LibTorch in
 * processes that only wait for each other after each step, against LibTorch's DDP reducer on Gloo, and against hvd on
 * one rank; and hvd with gradients as float16, without and with range control, and with a look for gradients that are not finite, against hvd. All but the last one take turns within the same processes, and each turn of hvd is compared with the
 * opponent's turn that follows it.
 */
final class TrainingBench implements Benchmark {
    private static final String HVD = "hvd";
    private static final String FP16 = "fp16";
    private static final String FP16_RANGE = "fp16-range";
    private static final String FINITE = "finite";
    private static final String PLAIN = "plain";
    private static final String MEETING = "meeting";
    private static final String DDP = "ddp";

    @Override
    public String name() {
        return "training";
    }

    @Override
    public String summary() {
        return "Times the training of the MNIST net (64 images per rank and step) and of a small ResNet (16 images)."
                + " --repeat is the number of launches, --rounds the number of timed steps in each, --only takes mnist or"
                + " resnet; --sizes has no effect.";
    }

    @Override
    public MeasurementPlan usual() {
        return new MeasurementPlan(List.of(1, 2, 4), List.of(), 300, 3);
    }

    @Override
    public MeasurementPlan quick() {
        return new MeasurementPlan(List.of(1, 2), List.of(), 30, 1, "mnist", "", Map.of());
    }

    @Override
    public void run(MeasurementPlan plan, Progress progress, Consumer<Result> results)
            throws IOException, InterruptedException {
        for (Net net : Net.values()) {
            if (plan.wants(net.name().toLowerCase(Locale.ROOT))) {
                Runs runs = new Runs(net, steps(net, plan.rounds()));
                for (int launch = 0; launch < plan.repeat(); launch++) {
                    runs.launchAll(plan.ranks(), progress);
                }
                runs.results(plan.ranks()).forEach(results);
            }
        }
    }

    /** The number of timed steps; fewer for the ResNet, whose step takes some ten times as long. */
    private static int steps(Net net, int rounds) {
        return net == Net.MNIST ? rounds : Math.max(5, rounds / 10);
    }

    /** The timings of one net by the number of ranks, in the order of the launches. */
    private static final class Runs {
        private final Net net;
        private final int steps;
        private final Map<Integer, Samples> byRanks = new LinkedHashMap<>();

        Runs(Net net, int steps) {
            this.net = net;
            this.steps = steps;
        }

        void launchAll(List<Integer> ranks, Progress progress) throws IOException, InterruptedException {
            for (int count : ranks) {
                List<String> ways =
                        count == 1 ? List.of(HVD, PLAIN) : List.of(HVD, FINITE, FP16, FP16_RANGE, PLAIN, MEETING, DDP);
                progress.say(net + ", " + count + " ranks");
                Samples run = RankLaunch.mpirun(
                        count,
                        MpiSetting.DEFAULT,
                        TrainingRank.class,
                        String.join(",", ways),
                        net.name(),
                        Integer.toString(steps));
                byRanks.merge(count, run, (before, now) -> Samples.together(List.of(before, now)));
            }
        }

        List<Result> results(List<Integer> ranks) {
            List<Result> results = new ArrayList<>();
            for (int count : ranks) {
                String torch = byRanks.get(count).about("torch");
                String alone = count == 1 ? "without-hvd" : count + "-processes-without-communication";
                results.add(result("", count, HVD, torch + "[" + alone + "]", PLAIN));
                if (count > 1) {
                    results.add(result("-" + FINITE, count, FINITE, "hvd[unchecked]", HVD));
                    for (String way : List.of(FP16, FP16_RANGE)) {
                        results.add(result("-" + way, count, way, "hvd[uncompressed]", HVD));
                    }
                    results.add(result("", count, HVD, torch + "[" + alone + ",in-step]", MEETING));
                    results.add(result("", count, HVD, torch + "[ddp-reducer,gloo]", DDP));
                }
                if (count > 1 && ranks.contains(1)) {
                    results.add(result("", count, HVD, "hvd[1-rank,ratio=efficiency]", HVD, 1));
                }
            }
            return results;
        }

        private Result result(String suffix, int ranks, String ours, String opponent, String theirs) {
            return result(suffix, ranks, ours, opponent, theirs, ranks);
        }

        /** A result with the interval of the ratios of neighbouring turns. */
        private Result result(String suffix, int ranks, String ours, String opponent, String theirs, int theirRanks) {
            Samples run = byRanks.get(ranks);
            List<Double> mine = run.of(ours, net.bytes());
            List<Double> other = byRanks.get(theirRanks).of(theirs, net.bytes());
            Spread micros = Spread.of(mine);
            Spread theirMicros = Spread.of(other);
            return new Result(
                            "training-" + net.name().toLowerCase(Locale.ROOT) + suffix,
                            ranks,
                            net.bytes(),
                            micros,
                            opponent,
                            theirMicros)
                    .withPairs(Spread.ofRatios(mine, other))
                    .with("images_per_second", 1e6 * ranks * net.batch() / micros.median())
                    .with("opponent_images_per_second", 1e6 * theirRanks * net.batch() / theirMicros.median())
                    .withLaunches(theirRanks == ranks ? run.launchRatios(ours, theirs, net.bytes()) : List.of())
                    .withOthers(run.othersPercent());
        }
    }
}
