package io.hvd.monitor;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.error.HvdException;
import io.hvd.monitor.hang.NcclRas;
import io.hvd.monitor.hang.RasServer;
import io.hvd.monitor.peers.Peers;
import io.hvd.monitor.peers.SocketPeersInOneJvm;
import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.HangReport;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.PhaseView;
import io.hvd.monitor.view.RankProcess;
import io.hvd.testing.StandardError;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Several monitors in one JVM, over real sockets and through the shared directory; the recorders are fed by hand. */
final class MonitorTest {
    private static final int SIZE = 3;
    private static final long LIMIT_SECONDS = 30;

    @TempDir
    Path folder;

    private NcclRas ras = NcclRas.OFF;
    private final List<AutoCloseable> open = new ArrayList<>();
    private final LinkedBlockingQueue<HangReport> reports = new LinkedBlockingQueue<>();
    private final List<String> order = Collections.synchronizedList(new ArrayList<>());
    private final List<FlightRecorder> recorders =
            Stream.generate(() -> new FlightRecorder(128)).limit(SIZE).toList();

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable one : open) {
            one.close();
        }
    }

    @Test
    void aHangIsReportedOnceAndAllRanksAreTold() throws Exception {
        submit(0);
        submit(2);
        start(sockets(), 0, 1, 2);

        List<HangReport> told = List.of(next(), next(), next());

        assertThat(told).containsOnly(told.get(0));
        assertThat(order)
                .as("the reporter has left its record when the others end")
                .startsWith("found by 0");
        assertThat(order.stream().filter(what -> what.startsWith("found"))).hasSize(1);
        assertThat(told.get(0).reporter()).isZero();
        assertThat(told.get(0).verdict()).startsWith("rank 1 has not called allreduce \"gradient\"");
        assertThat(Files.readString(Path.of(told.get(0).file())))
                .contains("==== rank 2", "allreduce \"gradient\" float32 [5] at ");
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).hasSize(1);
        }
    }

    @Test
    void whatNcclsRasSaysIsPartOfTheVerdictAndOfTheReport() throws Exception {
        try (RasServer server = RasServer.answering(RasServer.INCOMPLETE)) {
            ras = server.ras(folder);
            submit(1);
            submit(2);
            start(Peers.ofThreads(SIZE, "here"), 0, 1, 2);

            HangReport told = next();
            assertThat(told.verdict())
                    .startsWith("rank 0 has not called allreduce \"gradient\"")
                    .contains("(NCCL's RAS says: INCOMPLETE; Missing communicator data from 1 job process; Process");
            assertThat(Files.readString(Path.of(told.file())))
                    .contains(
                            "==== NCCL's RAS at localhost:" + server.port(),
                            "  Missing communicator data",
                            "  #0-0 (27a079b828ff1a75) MISMATCH",
                            "RUNNING  INCOMPLETE");
        }
    }

    @Test
    void ranksThatAreThreadsFindEachOtherInMemory() throws Exception {
        submit(1);
        submit(2);
        start(Peers.ofThreads(SIZE, "here"), 0, 1, 2);

        assertThat(next().verdict()).startsWith("rank 0 has not called allreduce \"gradient\"");
        assertThat(next().reporter()).isZero();
    }

    @Test
    void aRankThatGivesUpTellsThoseOfOtherHosts() throws Exception {
        List<Monitor> monitors = start(
                sockets(
                        RankProcess.ofThisProcess(0, "a"),
                        RankProcess.ofThisProcess(1, "a"),
                        RankProcess.ofThisProcess(2, "b")),
                patient(Duration.ZERO),
                0,
                1,
                2);

        monitors.get(1).giveUp("rank 0 is gone");
        await(() -> !order.isEmpty());
        monitors.get(2).giveUp("rank 1 has said so");
        await(() -> order.size() == 3);

        assertThat(order)
                .containsExactly(
                        "given up, as rank 0 is gone",
                        "given up, as rank 1 has said so",
                        "given up, as rank 1 has said so");
    }

    @Test
    void whenRankZeroIsStoppedTheNextOneReportsWhatItLastPublished() throws Exception {
        Process stopped = stopped();
        List<Peers> peers = sockets(RankProcess.of(0, "here", stopped.pid()));
        recorders.get(0).ended(submit(0), "");
        peers.get(0).publish(Activity.of(recorders.get(0), PhaseView.NONE));
        submit(1);
        submit(2);
        start(peers, 1, 2);

        assertThat(next().reporter()).isEqualTo(1);
        assertThat(next().verdict())
                .startsWith("rank 0 is stopped (process state T), process " + stopped.pid())
                .contains("ranks {1, 2} have waited in allreduce \"gradient\"");
    }

    @Test
    void aStoppedProcessOnAnotherHostIsLookedAtByARankThere() throws Exception {
        RankProcess self = RankProcess.ofThisProcess(0, "nodeA");
        RankProcess stopped = RankProcess.of(2, "nodeB", stopped().pid());
        RankProcess witness = new RankProcess(1, "nodeB", self.pid(), self.startTicks(), "B");
        List<Peers> peers =
                sockets(self, witness, new RankProcess(2, "nodeB", stopped.pid(), stopped.startTicks(), "B"));
        submit(0);
        submit(1);
        start(peers, 0, 1);

        assertThat(next().verdict()).startsWith("rank 2 is stopped (process state T), process " + stopped.pid());
    }

    @Test
    void whereNobodyOnTheHostAnswersTheReportSaysSo() throws Exception {
        RankProcess self = RankProcess.ofThisProcess(0, "nodeA");
        List<Peers> peers = sockets(
                self,
                RankProcess.ofThisProcess(1, "nodeA"),
                new RankProcess(2, "nodeB", self.pid(), self.startTicks(), "a host that is cut off"));
        submit(0);
        submit(1);
        start(peers, 0, 1);

        assertThat(next().verdict())
                .startsWith(
                        "rank 2 has not called allreduce \"gradient\": it does not answer, and no rank on its host");
    }

    /** kill -STOP on a process that does nothing anyway. */
    private Process stopped() throws Exception {
        Process process = new ProcessBuilder("sleep", "1000").start();
        open.add(process::destroyForcibly);
        new ProcessBuilder("sh", "-c", "kill -STOP " + process.pid()).start().waitFor();
        return process;
    }

    @Test
    void aPhaseHoldsTheLimitBackForAsLongAsItsBudget() throws Exception {
        submit(1);
        submit(2);
        long before = System.nanoTime();
        List<Monitor> monitors = start(Peers.ofThreads(SIZE, "here"), 0, 1, 2);
        monitors.get(0).phase("evaluation", Duration.ofMillis(1500));

        assertThat(next().verdict()).contains("phase \"evaluation\"", "over its budget");
        assertThat(System.nanoTime() - before).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(1500));
    }

    @Test
    void aRankWithoutAnAddressKeepsNobodyWaitingAndIsNamedOnEveryRank() {
        for (CompletableFuture<Peers> rank : SocketPeersInOneJvm.connect(SIZE, 2)) {
            assertThat(rank)
                    .failsWithin(Duration.ofSeconds(LIMIT_SECONDS))
                    .withThrowableOfType(ExecutionException.class)
                    .withCauseInstanceOf(HvdException.class)
                    .withMessageContaining("[HVD-102] rank 2 (here) could not open its monitor's sockets")
                    .withMessageContaining("no usable network interface");
        }
    }

    @Test
    void strangersThatSayNothingOrGarbageKeepAHangFromNobody() throws Exception {
        submit(0);
        submit(2);
        List<Peers> peers = sockets();
        for (InetSocketAddress address : SocketPeersInOneJvm.questions(peers.get(0))) {
            for (int i = 0; i < 20; i++) {
                Socket stranger = new Socket(address.getAddress(), address.getPort());
                open.add(stranger);
                stranger.getOutputStream().write(new byte[i]);
            }
            Socket oversized = new Socket(address.getAddress(), address.getPort());
            open.add(oversized);
            oversized
                    .getOutputStream()
                    .write(ByteBuffer.allocate(20).putInt(16, Integer.MAX_VALUE).array());
        }
        start(peers, 0, 1, 2);

        assertThat(next().verdict()).startsWith("rank 1 has not called allreduce \"gradient\"");
        assertThat(next().reporter()).isZero();
        assertThat(next().reporter()).isZero();
    }

    @Test
    void aJobThatGoesOnWhileItIsLookedAtIsNotSaidToStandStill() throws Exception {
        List<Peers> peers = Peers.ofThreads(SIZE, "here");
        var first = List.of(submit(0, "a"), submit(2, "a"));
        submit(1, "b");
        var looks = new AtomicInteger();
        Runnable goOn = () -> {
            if (looks.getAndIncrement() == 0) { // rank 0 has given its view already
                recorders.get(0).ended(first.get(0), "");
                recorders.get(1).ended(submit(1, "a"), "");
                recorders.get(2).ended(first.get(1), "");
                submit(2, "b");
            }
        };
        answer(peers.get(1), goOn);
        answer(peers.get(2), () -> {});
        String said = StandardError.during(() -> {
            start(peers, patient(Duration.ofSeconds(1)), 0);
            await(() -> looks.get() == 2);
            long looked = System.nanoTime();
            await(() -> peers.get(1).heard().get(0).atNanos() > looked);
        });

        assertThat(said).doesNotContain("deadlock");
        assertThat(reports).isEmpty();
    }

    /** A rank without a monitor, which has given one sign of life and answers questions. */
    private void answer(Peers peers, Runnable before) {
        LiveReporter reporter =
                new LiveReporter(recorders.get(peers.self()), Thread.currentThread(), Thread.currentThread());
        peers.publish(Activity.of(recorders.get(peers.self()), PhaseView.NONE));
        peers.serve(new Peers.Respondent() {
            @Override
            public LiveReport report() {
                before.run();
                return reporter.report(PhaseView.NONE);
            }

            @Override
            public void end(HangReport report) {
                reports.add(report);
            }

            @Override
            public void givenUp(String why) {
                order.add(why);
            }
        });
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("within " + LIMIT_SECONDS + " s").isLessThan(end);
            Thread.sleep(5);
        }
    }

    private Call submit(int rank) {
        return submit(rank, "gradient");
    }

    private Call submit(int rank, String name) {
        List<Integer> members = IntStream.range(0, SIZE).boxed().toList();
        return recorders.get(rank).submitted(new Call.Operation("allreduce", name, "float32 [5]", 0, members));
    }

    /** Nobody dies here: all ranks are in one process. */
    private final class Reports implements Monitor.Alarm {
        @Override
        public void found(HangReport report) {
            order.add("found by " + report.reporter());
        }

        @Override
        public void hung(HangReport report) {
            order.add("hung");
            reports.add(report);
        }

        @Override
        public void died(List<Integer> ranks) {
            throw new AssertionError(ranks);
        }

        @Override
        public void unreachable(String host, List<Integer> ranks) {
            throw new AssertionError(host);
        }

        @Override
        public void givenUp(String why) {
            order.add("given up, as " + why);
        }
    }

    private List<Monitor> start(List<Peers> peers, int... ranks) {
        return start(
                peers,
                new MonitorSettings(Duration.ofMillis(250), Duration.ofMillis(700), Duration.ZERO, folder, ras),
                ranks);
    }

    /** Settings that look for deadlocks alone. */
    private MonitorSettings patient(Duration standstill) {
        return new MonitorSettings(Duration.ofMinutes(1), Duration.ofMinutes(10), standstill, folder, ras);
    }

    private List<Monitor> start(List<Peers> peers, MonitorSettings settings, int... ranks) {
        List<Monitor> monitors = new ArrayList<>();
        for (int rank : ranks) {
            LiveReporter self = new LiveReporter(recorders.get(rank), Thread.currentThread(), Thread.currentThread());
            monitors.add(Monitor.start(self, settings, peers.get(rank), new Reports(), Optional.empty()));
        }
        open.addAll(monitors);
        return monitors;
    }

    private HangReport next() throws InterruptedException {
        HangReport report = reports.poll(LIMIT_SECONDS, TimeUnit.SECONDS);
        assertThat(report).as("a report within " + LIMIT_SECONDS + " s").isNotNull();
        return report;
    }

    /** Peers of all ranks; those whose member is not given are this process. */
    private List<Peers> sockets(RankProcess... given) throws Exception {
        List<Peers> peers = new ArrayList<>();
        for (CompletableFuture<Peers> connected : SocketPeersInOneJvm.connect(SIZE, SIZE, given)) {
            peers.add(connected.get(LIMIT_SECONDS, TimeUnit.SECONDS));
        }
        open.addAll(peers);
        return peers;
    }
}
