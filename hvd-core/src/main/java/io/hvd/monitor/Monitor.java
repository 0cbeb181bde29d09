package io.hvd.monitor;

import io.hvd.config.MonitorOptions;
import io.hvd.log.HvdLogger;
import io.hvd.monitor.diagnosis.CollectiveWait;
import io.hvd.monitor.diagnosis.Standstill;
import io.hvd.monitor.diagnosis.Verdict;
import io.hvd.monitor.hang.HangFile;
import io.hvd.monitor.hang.HangSituation;
import io.hvd.monitor.hang.HangText;
import io.hvd.monitor.hang.StallWarning;
import io.hvd.monitor.peers.Peers;
import io.hvd.monitor.peers.ViewGathering;
import io.hvd.monitor.status.RankStatus;
import io.hvd.monitor.status.StatusPage;
import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.HangReport;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.RankProcess;
import io.hvd.monitor.view.RankView;
import io.hvd.trace.FlightRecorder;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

/**
 * Watches a job for one rank, on a daemon thread of its own that never calls MPI. It publishes
 * the calls in which this rank waits. On the lowest rank that gives signs of life, it also warns of collectives that
 * wait too long, and at the limit reports the hang and ends the job.
 */
public final class Monitor implements AutoCloseable {
    private static final HvdLogger LOG = HvdLogger.of(Monitor.class);
    private static final Duration END_LIMIT = Duration.ofSeconds(1);
    /** Less than the ranks wait for their reporter, see {@link #ALONE_MILLIS}. */
    private static final Duration RAS_LIMIT = Duration.ofSeconds(3);

    private static final int PUBLISHED_CALLS = 8;
    /** The number of missed signs of life in a row after which a rank is passed over as reporter. */
    private static final int SILENT_BEATS = 3;
    /** If no rank has reported so long after the limit, every rank reports for itself. */
    private static final long ALONE_MILLIS = 10_000;

    private final LiveReporter self;
    private final MonitorSettings settings;
    private final Peers peers;
    private final Alarm alarm;
    private final ViewGathering gathering;
    private final StallWatch watch;
    private final StandstillWatch standstillWatch;
    private final CloseNotice closeNotice;
    private final RankStatus status;
    /** The page for hvd-top; empty if there is none. */
    private final Optional<StatusPage> page;

    private final Phases phases = new Phases(System::nanoTime);
    private final AtomicBoolean ended = new AtomicBoolean();
    private final CountDownLatch closing = new CountDownLatch(1);
    private final Thread thread;
    private boolean failed;

    private Monitor(LiveReporter self, MonitorSettings settings, Peers peers, Alarm alarm, Optional<StatusPage> page) {
        this.self = self;
        this.settings = settings;
        this.peers = peers;
        this.alarm = alarm;
        this.gathering = new ViewGathering(peers);
        this.watch = new StallWatch(settings);
        this.standstillWatch = new StandstillWatch(settings.standstillMillis());
        this.status = new RankStatus(self.recorder(), peers.job(), peers.members(), peers.self());
        this.page = page;
        this.closeNotice = new CloseNotice(peers.members().get(peers.self()));
        this.thread = new Thread(this::run, "hvd-monitor-" + peers.self());
        thread.setDaemon(true);
    }

    /** Receives a monitor's findings, on a thread of its own. */
    public interface Alarm {
        /** This rank has found a hang and is about to tell the others, whose processes end then; told once, before {@link #hung}. */
        default void found(HangReport report) {}

        /** A hang has been reported; told once. The process is to end then. */
        void hung(HangReport report);

        /** The processes of these ranks have ended although this monitor has not been closed; called once. */
        void died(List<Integer> ranks);

        /** A host has disappeared from the network together with these ranks; told once for each. */
        void unreachable(String host, List<Integer> ranks);

        /** A rank on another host has found that the job cannot go on. */
        void givenUp(String why);
    }

    /**
     * Starts to watch; the other ranks do the same. On the communication thread.
     *
     * @param recorder records this rank's collectives
     * @param initialiser the thread that initialised hvd
     * @param peers closed together with the monitor
     */
    public static Monitor start(
            FlightRecorder recorder, Thread initialiser, MonitorOptions options, Peers peers, Alarm alarm) {
        LiveReporter self = new LiveReporter(recorder, initialiser, Thread.currentThread());
        Optional<StatusPage> page = options.statusPage() ? StatusPage.create() : Optional.empty();
        return start(self, MonitorSettings.of(options), peers, alarm, page);
    }

    /** @param page for hvd-top; closed together with the monitor */
    static Monitor start(
            LiveReporter self, MonitorSettings settings, Peers peers, Alarm alarm, Optional<StatusPage> page) {
        Monitor monitor = new Monitor(self, settings, peers, alarm, page);
        peers.serve(monitor.new Answers());
        monitor.thread.start();
        DeathWatch.start(peers.self(), peers.members(), monitor.closing, alarm::died);
        HostWatch.start(peers, monitor.closing, alarm::unreachable);
        return monitor;
    }

    /**
     * Announces long work of this rank, for which the others wait patiently.
     *
     * @param atMost the longest time; beyond it the whole wait counts again, from its beginning
     * @return to be run when the work is done; running it again does nothing
     */
    public Runnable phase(String what, Duration atMost) {
        return phases.enter(what, atMost);
    }

    /** The other ranks of this machine whose processes run now. */
    public List<Integer> living() {
        return neighbours().living();
    }

    /** The other ranks of this machine whose processes have come to an end. */
    public List<Integer> dead() {
        return neighbours().dead();
    }

    private Neighbours neighbours() {
        return new Neighbours(peers.self(), peers.members());
    }

    /** Hosts from which no sign of life has come for seconds, each with its ranks; they may still run. */
    public Map<String, List<Integer>> silentHosts() {
        Map<Integer, Long> ago = new HashMap<>();
        peers.heard().forEach((rank, sign) -> ago.put(rank, sign.agoMillis()));
        return HostWatch.silent(peers.self(), peers.members(), ago);
    }

    /**
     * Tells the ranks of other hosts that the job cannot go on, on a thread of its own. A rank that waits in the data plane
     * learns of it by nothing else where those that it waits for live: they stay connected until they are ended.
     */
    public void giveUp(String why) {
        String host = peers.members().get(peers.self()).host();
        List<Integer> elsewhere = peers.members().stream()
                .filter(member -> !member.host().equals(host))
                .map(RankProcess::rank)
                .toList();
        if (!elsewhere.isEmpty()) {
            Thread thread =
                    new Thread(() -> peers.giveUp(why, elsewhere, END_LIMIT), "hvd-monitor-gives-up-" + peers.self());
            thread.setDaemon(true);
            thread.start();
        }
    }

    /** Stops watching; the other ranks get no more signs of life from this one. */
    @Override
    public void close() {
        closing.countDown();
        peers.close();
    }

    private void run() {
        try {
            do {
                tryToBeat();
            } while (!closing.await(settings.beatMillis(), TimeUnit.MILLISECONDS));
        } catch (InterruptedException e) {
            // Only the end of the JVM interrupts this thread.
        } finally {
            page.ifPresent(StatusPage::close);
        }
    }

    /** Ignores every error: the next heartbeat may succeed, and the training must not suffer. */
    private void tryToBeat() {
        try {
            heartbeat();
        } catch (RuntimeException e) {
            if (!failed && closing.getCount() > 0) {
                LOG.warn("the monitor of rank {} has failed; a hang may not be explained", peers.self(), e);
                failed = true;
            }
        }
    }

    private void heartbeat() {
        Activity own = Activity.of(self.recorder(), phases.view());
        page.ifPresent(shown -> shown.write(status.json(own, System.nanoTime())));
        peers.publish(own.brief(PUBLISHED_CALLS));
        Map<Integer, Peers.Heard> heard = peers.heard();
        closeNotice.textIfDue(own, heard).ifPresent(System.err::println);
        boolean alone = own.oldestMillis() >= settings.limitMillis()
                && own.oldestMillis() - settings.limitMillis() >= ALONE_MILLIS;
        if (ended.get() || !(alone || isReporter(heard))) {
            return;
        }
        long still = stillMillis(own, heard);
        boolean standstill = standstillWatch.isTimeToLook(now(), still);
        if (watch.isTimeToLook(now(), oldest(own, heard)) || standstill) {
            look(alone, still, standstill);
        }
    }

    /** The time for which no rank has made a call or got a result; 0 if a rank waits for none, or is not heard of. */
    private long stillMillis(Activity own, Map<Integer, Peers.Heard> heard) {
        boolean none =
                settings.standstill().isZero() || heard.size() < peers.members().size() - 1;
        return none
                ? 0
                : Stream.concat(
                                Stream.of(own),
                                heard.values().stream()
                                        .map(sign -> sign.activity().after(sign.agoMillis())))
                        .mapToLong(activity -> activity.pending().isEmpty() ? 0 : activity.idleMillis())
                        .min()
                        .orElse(0);
    }

    private boolean isReporter(Map<Integer, Peers.Heard> heard) {
        Map<Integer, Long> ago = new HashMap<>();
        heard.forEach((rank, sign) -> ago.put(rank, sign.agoMillis()));
        return ReporterChoice.choose(peers.self(), ago, SILENT_BEATS * settings.beatMillis()) == peers.self();
    }

    private static long oldest(Activity own, Map<Integer, Peers.Heard> heard) {
        return heard.values().stream()
                .mapToLong(sign -> sign.activity().after(sign.agoMillis()).oldestMillis())
                .reduce(own.oldestMillis(), Math::max);
    }

    private void look(boolean alone, long stillMillis, boolean standstill) {
        List<RankView> views = gathering.views(self.report(phases.view()), gathering.others());
        if (!alone && views.stream().anyMatch(view -> view.answers() && view.rank() < peers.self())) {
            return; // a lower rank was only late with its sign of life, and reports itself
        }
        List<CollectiveWait> waits = CollectiveWait.of(views);
        long longest = waits.stream().mapToLong(CollectiveWait::millis).max().orElse(0);
        switch (watch.decide(now(), longest)) {
            case WARN -> warn(waits, views);
            case END -> end(waits, views, settings.limitMillis(), Standstill.NONE);
            case NOTHING -> {}
        }
        if (standstill) {
            standsStill(waits, views, stillMillis);
        }
    }

    private void standsStill(List<CollectiveWait> waits, List<RankView> views, long stillMillis) {
        Standstill found = inTwoLooks(Standstill.of(waits, views), views);
        switch (standstillWatch.decide(now(), stillMillis, found)) {
            case SAY -> LOG.warn(found.warning(Verdict.of(waits, views), stillMillis, settings.standstillMillis()));
            case END -> end(waits, views, 0, found);
            case NOTHING -> {}
        }
    }

    /**
     * One look sees each rank at another moment, so a job that has just gone on may look as if it stood still. Two looks
     * that find the same calls prove that there was a moment, between them, at which all ranks stood.
     */
    private Standstill inTwoLooks(Standstill found, List<RankView> before) {
        if (found.kind() == Standstill.Kind.NONE) {
            return found;
        }
        List<RankView> views = gathering.views(self.report(phases.view()), answering(before));
        Standstill again = Standstill.of(CollectiveWait.of(views), views);
        return found.isSameAs(again) ? again : Standstill.NONE;
    }

    private void warn(List<CollectiveWait> waits, List<RankView> views) {
        List<CollectiveWait> old = waits.stream()
                .filter(wait -> wait.millis() >= settings.warningMillis())
                .toList();
        LOG.warn(StallWarning.text(old, views, settings.limit()));
        old.forEach(wait ->
                self.recorder().stalled(wait.key().toString(), wait.waiting().keySet(), wait.missing(), wait.millis()));
    }

    /** Looks a second time, because in the first look a call may have ended on one rank and not yet on another. */
    private void end(List<CollectiveWait> first, List<RankView> before, long leastMillis, Standstill standstill) {
        List<RankView> views = gathering.views(self.report(phases.view()), answering(before));
        List<CollectiveWait> waits = CollectiveWait.of(views);
        List<CollectiveWait> overdue = waits.stream()
                .filter(wait -> wait.millis() >= leastMillis)
                .filter(wait -> first.stream().anyMatch(earlier -> earlier.isSameAs(wait)))
                .toList();
        if (overdue.isEmpty() || !ended.compareAndSet(false, true)) {
            return;
        }
        HangSituation situation = new HangSituation(
                peers.self(), overdue, views, standstill.kind(), settings.ras().ask(RAS_LIMIT));
        String file = HangFile.write(settings.folder(), situation);
        System.err.print(HangText.summary(situation, file));
        System.err.flush();
        HangReport report = new HangReport(situation.verdict(), peers.self(), file);
        alarm.found(report);
        peers.end(report, answering(views), END_LIMIT);
        alarm.hung(report);
    }

    private List<Integer> answering(List<RankView> views) {
        return views.stream()
                .filter(view -> view.answers() && view.rank() != peers.self())
                .map(RankView::rank)
                .toList();
    }

    private static long now() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
    }

    /** Answers the monitors of other ranks. */
    private final class Answers implements Peers.Respondent {
        @Override
        public LiveReport report() {
            return self.report(phases.view());
        }

        @Override
        public void end(HangReport report) {
            if (ended.compareAndSet(false, true)) {
                new Thread(() -> alarm.hung(report), "hvd-monitor-end-" + peers.self()).start();
            }
        }

        @Override
        public void givenUp(String why) {
            if (closing.getCount() > 0) {
                new Thread(() -> alarm.givenUp(why), "hvd-monitor-given-up-" + peers.self()).start();
            }
        }
    }
}
