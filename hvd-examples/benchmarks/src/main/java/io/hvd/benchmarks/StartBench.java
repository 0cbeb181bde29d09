package io.hvd.benchmarks;

import io.hvd.benchmarks.rank.StartRank;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Times the start: from horovodrun until the last rank has done init, and until it has ended its first step. */
final class StartBench implements Benchmark {
    private static final String HVD = "hvd";
    private static final String PLAIN = "plain";

    /** Starts so many ranks, as a user does who has no launcher, and fails as the last that fails. */
    private static final String BY_HAND = "pids=; for rank in $(seq 0 $(($0 - 1))); do HOROVOD_RANK=$rank \"$@\" &"
            + " pids=\"$pids $!\"; done; code=0; for pid in $pids; do wait $pid || code=$?; done; exit $code";

    @Override
    public String name() {
        return "start";
    }

    @Override
    public String summary() {
        return "Times the start of horovodrun until the last rank has done init, and until it has ended the first step of"
                + " the MNIST net, against plain mpirun of the same program and of LibTorch alone; and the same start"
                + " without MPI, by horovodrun --gloo and by hand. --repeat is the number of starts; --sizes and --rounds have no effect.";
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
            List<String> gloo = List.of(plan.launcher(), "--gloo", "-np", Integer.toString(ranks));
            for (List<String> launcher : List.of(horovodrun, gloo)) {
                RankLaunch.run(ranks, launcher, Map.of("HVD_CLASS_ARCHIVE", "wait"), StartRank.class, HVD);
            }
            Samples ours = new Samples();
            Samples theirs = new Samples();
            Samples torch = new Samples();
            Samples withoutMpi = new Samples();
            Samples byHand = new Samples();
            for (int start = 0; start < plan.repeat(); start++) {
                progress.say(ranks + " ranks, start " + (start + 1) + " of " + plan.repeat());
                addElapsed(ours, () -> RankLaunch.run(ranks, horovodrun, Map.of(), StartRank.class, HVD));
                addElapsed(theirs, () -> RankLaunch.unbound(ranks, StartRank.class, HVD));
                addElapsed(torch, () -> RankLaunch.unbound(ranks, StartRank.class, PLAIN));
                addElapsed(withoutMpi, () -> RankLaunch.run(ranks, gloo, Map.of(), StartRank.class, HVD));
                addElapsed(byHand, () -> byHand(ranks));
            }
            String mpirun = "mpirun-" + MachineLine.openMpi() + "[the-same-program]";
            results.accept(result("init", ranks, ours, mpirun, theirs));
            results.accept(result("step", ranks, ours, mpirun, theirs));
            results.accept(result("step", ranks, ours, "libtorch[" + ranks + "-processes-without-hvd]", torch));
            for (String what : List.of("init", "step")) {
                String horovodruns = "horovodrun[mpirun-" + MachineLine.openMpi() + "]";
                results.accept(result("gloo-", what, ranks, withoutMpi, horovodruns, ours));
                results.accept(result("by-hand-", what, ranks, byHand, mpirun, theirs));
            }
        }
    }

    private static Samples byHand(int ranks) throws IOException, InterruptedException {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        String number = Integer.toString(ranks);
        return RankLaunch.run(
                ranks,
                List.of("sh", "-c", BY_HAND, number),
                Map.of("HOROVOD_SIZE", number, "HVD_RENDEZVOUS", "127.0.0.1:" + port),
                StartRank.class,
                HVD);
    }

    private static Result result(String what, int ranks, Samples ours, String opponent, Samples theirs) {
        return result("", what, ranks, ours, opponent, theirs);
    }

    private static Result result(String way, String what, int ranks, Samples ours, String opponent, Samples theirs) {
        return new Result("start-" + way + what, ranks, 0, ours.spread(what, 0), opponent, theirs.spread(what, 0))
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
