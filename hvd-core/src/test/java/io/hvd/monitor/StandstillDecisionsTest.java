package io.hvd.monitor;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.monitor.diagnosis.CollectiveWait;
import io.hvd.monitor.diagnosis.Standstill;
import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.PhaseView;
import io.hvd.monitor.view.ProcessState;
import io.hvd.monitor.view.RankView;
import io.hvd.monitor.view.Stillness;
import io.hvd.monitor.view.Views;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When a job stands still, and what follows. */
@Timeout(60)
class StandstillDecisionsTest {
    private static final Stillness STILL = new Stillness("", 1);
    private final List<Thread> started = new ArrayList<>();

    @AfterEach
    void end() {
        started.forEach(Thread::interrupt);
    }

    private static RankView with(Stillness stillness, RankView view) {
        LiveReport live = view.live().orElseThrow();
        LiveReport changed = new LiveReport(
                live.activity(), live.training(), live.communication(), stillness, live.others(), live.machine());
        return new RankView(view.member(), view.state(), view.activity(), 0, Optional.of(changed));
    }

    private static Standstill.Kind kind(RankView... views) {
        return Standstill.of(CollectiveWait.of(List.of(views)), List.of(views)).kind();
    }

    private static RankView waits(int rank, CallView... calls) {
        return with(STILL, Views.waits(rank, calls));
    }

    @Test
    void ranksOfWhichEachWaitsForAnotherThatWaitsStandStill() {
        RankView[] all = {
            waits(0, Views.call("a", 9)),
            waits(1, Views.call("b", 8)),
            waits(2, Views.call("a", 7)),
            waits(3, Views.call("a", 9))
        };
        assertThat(kind(all)).isEqualTo(Standstill.Kind.CERTAIN);

        RankView[] awake = all.clone();
        awake[1] = with(new Stillness("thread \"x\" is RUNNABLE at X.y(X.java:1)", 1), all[1]);
        assertThat(Standstill.of(CollectiveWait.of(List.of(awake)), List.of(awake)))
                .returns(Standstill.Kind.LIKELY, Standstill::kind)
                .returns("rank 1 may still act, since thread \"x\" is RUNNABLE at X.y(X.java:1)", Standstill::reason);
    }

    @Test
    void aRankThatComputesIsSilentOrAnnouncesWorkMayStillCome() {
        RankView zero = waits(0, Views.call("a", 9));
        RankView two = waits(2, Views.call("b", 9));
        RankView three = waits(3, Views.call("b", 9));
        assertThat(kind(zero, Views.elsewhere(1, PhaseView.NONE), two, three)).isEqualTo(Standstill.Kind.NONE);
        assertThat(kind(
                        zero,
                        Views.elsewhere(1, new PhaseView("evaluation", 5_000, -1), Views.call("b", 9)),
                        two,
                        three))
                .isEqualTo(Standstill.Kind.NONE);
        assertThat(kind(zero, Views.silent(1, ProcessState.ANSWERS, 2, Views.call("b", 9)), two, three))
                .isEqualTo(Standstill.Kind.NONE);
    }

    @Test
    void aCallThatIsCompleteOrBegunOrHasALimitWillEnd() {
        CallView b = Views.call("b", 9);
        assertThat(kind(waits(0, b), waits(1, b), waits(2, b), waits(3, b))).isEqualTo(Standstill.Kind.NONE);
        CallView begun = Views.begun("a", 9, 8);
        assertThat(kind(waits(0, begun), waits(1, b), waits(2, b), waits(3, b))).isEqualTo(Standstill.Kind.NONE);
        CallView limited =
                new CallView(9, new CallView.Key(0, "barrier", "x"), "within 60 ms", b.members(), "X.y", 9, -1, -1, "");
        assertThat(kind(waits(0, limited), waits(1, b), waits(2, b), waits(3, b)))
                .isEqualTo(Standstill.Kind.NONE);
    }

    @Test
    void aCertainStandstillIsSaidAfterFiveSecondsAndEndsAtTheLimitUnlessSomethingMoves() {
        Standstill certain = new Standstill(Standstill.Kind.CERTAIN, "", 5);
        var watch = new StandstillWatch(30_000);
        assertThat(watch.isTimeToLook(0, 4_999)).isFalse();
        assertThat(watch.isTimeToLook(1, 5_000)).isTrue();
        assertThat(watch.decide(1, 5_000, certain)).isEqualTo(StandstillWatch.Step.SAY);
        List<StandstillWatch.Step> steps = new ArrayList<>();
        for (long still = 5_500; still <= 30_000; still += 500) {
            if (watch.isTimeToLook(still - 4_999, still)) {
                steps.add(watch.decide(still - 4_999, still, certain));
            }
        }
        assertThat(steps).hasSizeGreaterThan(3).endsWith(StandstillWatch.Step.END);
        assertThat(steps.subList(0, steps.size() - 1)).containsOnly(StandstillWatch.Step.NOTHING);

        var moved = new StandstillWatch(30_000);
        moved.decide(1, 5_000, certain);
        moved.decide(20_000, 25_000, new Standstill(Standstill.Kind.CERTAIN, "", 6));
        assertThat(moved.decide(26_000, 31_000, new Standstill(Standstill.Kind.CERTAIN, "", 6)))
                .as("a thread has moved 6 s ago, though no rank has made a call")
                .isEqualTo(StandstillWatch.Step.NOTHING);
    }

    @Test
    void aLikelyStandstillIsSaidOnceAndNeverEnds() {
        Standstill likely = new Standstill(Standstill.Kind.LIKELY, "rank 1 may still act", 5);
        var watch = new StandstillWatch(30_000);
        assertThat(watch.decide(0, 5_000, likely)).isEqualTo(StandstillWatch.Step.SAY);
        for (long still = 10_000; still < 1_000_000; still += 10_000) {
            assertThat(watch.decide(still, still, likely)).isEqualTo(StandstillWatch.Step.NOTHING);
        }
    }

    @Test
    void aThreadThatRunsSleepsOrHasATaskAheadIsAwakeAndOneThatWaitsForAnotherIsNot() throws Exception {
        var never = new CountDownLatch(1);
        assertThat(look(start("waits", never::await), Thread.State.WAITING).awake())
                .isEmpty();
        assertThat(look(start("sleeps", () -> Thread.sleep(1_000_000)), Thread.State.TIMED_WAITING)
                        .awake())
                .contains("thread \"sleeps\" is TIMED_WAITING at ");
        assertThat(look(
                                start("runs", () -> {
                                    while (!Thread.currentThread().isInterrupted()) {
                                        Thread.onSpinWait();
                                    }
                                }),
                                Thread.State.RUNNABLE)
                        .awake())
                .contains("thread \"runs\" is RUNNABLE at ");

        ExecutorService cached = Executors.newCachedThreadPool(task -> keep(new Thread(task, "idle")));
        cached.submit(() -> {}).get();
        assertThat(look(started.get(started.size() - 1), Thread.State.TIMED_WAITING)
                        .awake())
                .as("a pool's thread without work")
                .isEmpty();
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(1, task -> keep(new Thread(task, "timer")));
        timer.schedule(() -> {}, 1, TimeUnit.HOURS);
        assertThat(look(started.get(started.size() - 1), Thread.State.TIMED_WAITING)
                        .awake())
                .contains("thread \"timer\" is TIMED_WAITING");
        cached.shutdownNow();
        timer.shutdownNow();
    }

    @Test
    void aThreadThatHasMovedBetweenTwoLooksChangesTheFingerprint() throws Exception {
        var turns = new Semaphore(0);
        Thread thread = start("moves", () -> {
            while (true) {
                turns.acquire();
            }
        });
        Stillness first = look(thread, Thread.State.WAITING);
        assertThat(look(thread, Thread.State.WAITING)).isEqualTo(first);
        long before = waits(thread);
        turns.release();
        while (waits(thread) == before) {
            Thread.onSpinWait();
        }
        assertThat(look(thread, Thread.State.WAITING).fingerprint()).isNotEqualTo(first.fingerprint());
    }

    /** What it waits for may come from outside of the JVM, such as a native callback. */
    @Test
    void aThreadThatHasCalledHvdAndWaitsElsewhereIsAwake() throws Exception {
        var never = new CountDownLatch(1);
        Thread caller = start("caller", never::await);
        look(caller, Thread.State.WAITING);
        assertThat(Stillness.of(List.of(), Set.of(caller)).awake()).contains("thread \"caller\" is WAITING");
        caller.interrupt();
        caller.join();
        assertThat(Stillness.of(List.of(), Set.of(caller)).awake()).isEmpty();
    }

    /** A test of a user's that hangs is as certain a deadlock as a program that does. */
    @Test
    void theThreadsOfMavensTestRunnerMakeNoCalls() {
        List<ThreadInfo> runner = Arrays.stream(
                        ManagementFactory.getThreadMXBean().dumpAllThreads(false, false))
                .filter(thread -> thread.getThreadName().startsWith("surefire-forkedjvm-"))
                .toList();

        assertThat(runner).as("this test runs under Maven").isNotEmpty();
        assertThat(Stillness.of(runner, Set.of())).isEqualTo(new Stillness("", 0));
    }

    private interface Body {
        void run() throws InterruptedException;
    }

    private Thread start(String name, Body body) {
        Thread thread = keep(new Thread(
                () -> {
                    try {
                        body.run();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                name));
        thread.start();
        return thread;
    }

    private Thread keep(Thread thread) {
        thread.setDaemon(true);
        started.add(thread);
        return thread;
    }

    /** Looks at this thread alone, once it is in this state. */
    private static Stillness look(Thread thread, Thread.State state) {
        ThreadInfo info;
        do {
            info = ManagementFactory.getThreadMXBean().getThreadInfo(new long[] {thread.getId()}, false, false)[0];
        } while (info.getThreadState() != state || info.getStackTrace().length == 0);
        return Stillness.of(List.of(info), Set.of());
    }

    private static long waits(Thread thread) {
        return ManagementFactory.getThreadMXBean().getThreadInfo(thread.getId()).getWaitedCount();
    }
}
