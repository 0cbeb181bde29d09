package io.hvd.benchmarks;

import io.hvd.benchmarks.rank.StartRank;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Times the start: from horovodrun until the last rank has done init, and until it has ended its first step. */
final class StartBench implements Benchmark {
    private static final String HVD = "hvd";
    private static final String PLAIN = "plain";

    @Override
    public String name() {
        return "start";
    }

    @Override
    public String summary() {
        return "Times the start of horovodrun until the last rank has done init, and until it has ended the first step of"
                + " the MNIST net, against plain mpirun of the same program and of LibTorch alone. --repeat is the number"
                + " of starts; --sizes and --rounds have no effect.";
    }

    @Override
    public MeasurementPlan usual() {
        return new MeasurementPlan(List.of(4), List.of(), 1, 10);
    }

    @Override
    public MeasurementPlan quick() {
        return new MeasurementPlan(List.of(4), List.of(), 1, 3);
    }

    @Override
    public void run(MeasurementPlan plan, Progress progress, Consumer<Result> results)
            throws IOException, InterruptedException {
        for (int ranks : plan.ranks()) {
            List<String> horovodrun = List.of(plan.launcher(), "-np", Integer.toString(ranks));
            progress.say(ranks + " ranks, first start, which is not timed because it unpacks LibTorch and leads to"
                    + " class-data archives");
            RankLaunch.run(ranks, horovodrun, Map.of("HVD_CLASS_ARCHIVE", "wait"), StartRank.class, HVD);
            Samples ours = new Samples();
            Samples theirs = new Samples();
            Samples torch = new Samples();
            for (int start = 0; start < plan.repeat(); start++) {
                progress.say(ranks + " ranks, start " + (start + 1) + " of " + plan.repeat());
                addElapsed(ours, () -> RankLaunch.run(ranks, horovodrun, Map.of(), StartRank.class, HVD));
                addElapsed(theirs, () -> RankLaunch.unbound(ranks, StartRank.class, HVD));
                addElapsed(torch, () -> RankLaunch.unbound(ranks, StartRank.class, PLAIN));
            }
            String mpirun = "mpirun-" + MachineLine.openMpi() + "[the-same-program]";
            results.accept(result("init", ranks, ours, mpirun, theirs));
            results.accept(result("step", ranks, ours, mpirun, theirs));
            results.accept(result("step", ranks, ours, "libtorch[" + ranks + "-processes-without-hvd]", torch));
        }
    }

    private static Result result(String what, int ranks, Samples ours, String opponent, Samples theirs) {
        return new Result("start-" + what, ranks, 0, ours.spread(what, 0), opponent, theirs.spread(what, 0))
                .withPairs(Spread.ofRatios(ours.of(what, 0), theirs.of(what, 0)))
                .withOthers(Samples.together(List.of(ours, theirs)).othersPercent());
    }

    /** One way to start ranks. */
    private interface Starting {
        Samples run() throws IOException, InterruptedException;
    }

    private static void addElapsed(Samples to, Starting starting) throws IOException, InterruptedException {
        Samples clocks = starting.run();
        to.hadAs(clocks);
        for (String what : List.of("init", "step")) {
            clocks.of(what, 0).forEach(clock -> to.add(what, 0, clock - clocks.startedMicros()));
        }
    }
}
