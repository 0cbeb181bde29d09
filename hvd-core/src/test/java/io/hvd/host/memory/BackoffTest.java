package io.hvd.host.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class BackoffTest {
    private static final long MILLI = 1_000_000;

    private final ManualCore core = new ManualCore();
    private final AtomicInteger progress = new AtomicInteger();

    /** @return what it did in so long a wait */
    private List<String> pauses(Backoff backoff, long nanos) {
        core.did.clear();
        backoff.begin();
        for (long end = core.now + nanos; core.now < end; ) {
            backoff.pause();
        }
        return List.copyOf(core.did);
    }

    /** @return how long each wait had lasted when it doubted */
    private List<Long> doubtsAfterMillis(Backoff backoff, long nanos) {
        List<Long> doubts = new ArrayList<>();
        backoff.begin();
        long begin = core.now;
        while (core.now < begin + nanos) {
            if (backoff.pause()) {
                doubts.add((core.now - begin) / MILLI);
            }
        }
        return doubts;
    }

    private static List<String> kinds(List<String> did) {
        List<String> kinds = new ArrayList<>();
        for (String one : did) {
            if (kinds.isEmpty() || !kinds.get(kinds.size() - 1).equals(one)) {
                kinds.add(one);
            }
        }
        return kinds;
    }

    @Test
    void aLongWaitMovesOnWhatThisRankHasSent() {
        Backoff backoff = new Backoff(2, 4, progress::incrementAndGet, core);
        pauses(backoff, MILLI / 2);
        assertThat(progress).as("while it spins and yields").hasValue(0);
        pauses(backoff, 5 * MILLI);
        assertThat(progress).as("before each yield of a long wait").hasValueGreaterThan(1000);
        progress.set(0);
        backoff.programWaits(() -> false);
        pauses(backoff, 20 * MILLI);
        assertThat(progress).as("before each sleep").hasValueBetween(20, 100);
    }

    @Test
    void withACoreForEveryThreadItSpinsThenYieldsThenSleepsLongerAndLonger() {
        List<String> did = pauses(besideAProgramThatComputes(), 5 * MILLI);

        assertThat(kinds(did))
                .startsWith("spin", "yield", "sleep 20", "sleep 40", "sleep 80", "sleep 160", "sleep 320", "sleep 640")
                .endsWith("sleep 640", "sleep 1000");
        long spins = did.stream().filter("spin"::equals).count();
        assertThat(spins * ManualCore.SPIN_NANOS).as("spun for").isBetween(50_000L, 60_000L);
        long yields = did.stream().filter("yield"::equals).count();
        assertThat(yields * core.yieldNanos).as("yielded for").isBetween(900_000L, MILLI);
    }

    private Backoff besideAProgramThatComputes() {
        Backoff backoff = new Backoff(2, 4, progress::incrementAndGet, core);
        backoff.programWaits(() -> false);
        return backoff;
    }

    /** Else a fast rank would oversleep what the slow ones come with, and they would wait for it in every step. */
    @Test
    void whereNobodyElseWantsTheCoreItYieldsForTwentyMillisecondsBeforeItSleeps() {
        Backoff backoff = new Backoff(2, 2, progress::incrementAndGet, core);

        assertThat(kinds(pauses(backoff, 19 * MILLI))).containsExactly("spin", "yield");
        assertThat(kinds(pauses(backoff, 25 * MILLI)))
                .startsWith("spin", "yield", "sleep 20", "sleep 40")
                .endsWith("sleep 640", "sleep 1000");
    }

    @Test
    void aCoreThatSomebodyElseWantsIsNotYieldedForLong() {
        Backoff backoff = new Backoff(2, 2, progress::incrementAndGet, core);
        core.yieldNanos = 3 * MILLI;

        assertThat(kinds(pauses(backoff, 19 * MILLI))).startsWith("spin", "yield", "sleep 20", "sleep 40");
        assertThat(core.did.stream().filter("yield"::equals)).hasSize(1);
    }

    @Test
    void aSpinThatIsOverDoesNotBeginAgainInTheSameWait() {
        List<String> did = pauses(besideAProgramThatComputes(), 5 * MILLI);

        assertThat(did.lastIndexOf("spin")).isLessThan(did.indexOf("yield"));
        assertThat(did.lastIndexOf("yield")).isLessThan(did.indexOf("sleep 20"));
    }

    @Test
    void whileItSpinsItLooksAtTheClockOnceInThirtyTwo() {
        Backoff backoff = new Backoff(2, 4, progress::incrementAndGet, core);
        backoff.begin();
        core.clockLooks = 0;
        for (int i = 0; i < 320; i++) {
            backoff.pause();
        }

        assertThat(core.did).containsOnly("spin").hasSize(320);
        assertThat(core.clockLooks).isEqualTo(10);
    }

    @Test
    void whereTheProgramsThreadsWantTheCoresTooItYieldsAtOnce() {
        Backoff three = new Backoff(2, 3, progress::incrementAndGet, core);
        three.programWaits(() -> false);
        assertThat(kinds(pauses(three, MILLI / 2))).containsExactly("yield");
        assertThat(kinds(pauses(new Backoff(4, 2, progress::incrementAndGet, core), MILLI / 2)))
                .containsExactly("yield");
    }

    @Test
    void whileTheProgramWaitsHalfTheCoresAreEnoughToSpin() {
        boolean[] waits = {true};
        Backoff backoff = new Backoff(2, 2, progress::incrementAndGet, core);
        backoff.programWaits(() -> waits[0]);

        assertThat(kinds(pauses(backoff, MILLI / 2))).containsExactly("spin", "yield");
        waits[0] = false;
        assertThat(kinds(pauses(backoff, MILLI / 2))).containsExactly("yield");
    }

    /** The program's thread waits itself, and so computes nothing. */
    @Test
    void onACallersThreadHalfTheCoresAreEnoughToSpin() {
        Backoff callers = CompletableFuture.supplyAsync(
                        () -> new Backoff(2, 2, progress::incrementAndGet, core),
                        task -> new Thread(task, "communication").start())
                .join();

        callers.programWaits(() -> false);
        assertThat(kinds(pauses(callers, MILLI / 2))).containsExactly("spin", "yield");
    }

    @Test
    void whoGetsTheCoreBackAfterATimeSliceSleepsInsteadOfYieldingForAWhile() {
        Backoff backoff = new Backoff(4, 2, progress::incrementAndGet, core);
        backoff.programWaits(() -> false);
        core.yieldNanos = 3 * MILLI;
        assertThat(kinds(pauses(backoff, 4 * MILLI))).startsWith("yield", "sleep 20");
        core.yieldNanos = 1_000;

        assertThat(kinds(pauses(backoff, MILLI / 2))).as("in the next wait").containsExactly("sleep 20");
        core.now += 20 * MILLI;
        assertThat(kinds(pauses(backoff, MILLI / 2))).as("much later").containsExactly("yield");
    }

    /** All that the cores have to do then is what this rank waits for. */
    @Test
    void whereRanksShareCoresAndTheProgramWaitsTooItYieldsToTheOtherRanks() {
        Backoff backoff = new Backoff(4, 2, progress::incrementAndGet, core);
        core.yieldNanos = 3 * MILLI;
        pauses(backoff, MILLI / 2);
        assertThat(kinds(pauses(backoff, MILLI / 2)))
                .as("a rank has had the core")
                .containsExactly("yield");

        assertTakesALongerYieldForAnotherProgram(backoff);
    }

    private void assertTakesALongerYieldForAnotherProgram(Backoff backoff) {
        core.yieldNanos = 6 * MILLI;
        pauses(backoff, MILLI / 2);
        assertThat(kinds(pauses(backoff, MILLI / 2)))
                .as("something else computes there")
                .containsExactly("sleep 20");
    }

    /** The scheduler gives a busy program the core until its next tick, which a single yield cannot tell from a rank's work. */
    @Test
    void whereRanksShareCoresThreeLongYieldsInARowTellThatSomethingElseComputes() {
        Backoff backoff = new Backoff(4, 2, progress::incrementAndGet, core);
        core.yieldNanos = MILLI;
        for (int wait = 1; wait <= 3; wait++) {
            assertThat(kinds(pauses(backoff, MILLI / 2))).as("wait %d", wait).containsExactly("yield");
        }
        assertThat(kinds(pauses(backoff, MILLI / 2))).as("after three").containsExactly("sleep 20");

        core.now += 20 * MILLI;
        for (int wait = 1; wait <= 3; wait++) {
            assertThat(kinds(pauses(backoff, MILLI / 2)))
                    .as("wait %d, much later", wait)
                    .containsExactly("yield");
        }
    }

    @Test
    void whereManyRanksShareACoreAYieldMayTakeAsLongAsTheirWork() {
        Backoff backoff = new Backoff(64, 2, progress::incrementAndGet, core);
        core.yieldNanos = 3 * MILLI;
        for (int wait = 1; wait <= 10; wait++) {
            assertThat(kinds(pauses(backoff, MILLI / 2))).as("wait %d", wait).containsExactly("yield");
        }
        assertTakesALongerYieldForAnotherProgram(backoff);
    }

    @Test
    void aShortYieldBetweenLongOnesTellsThatRanksWork() {
        Backoff backoff = new Backoff(4, 2, progress::incrementAndGet, core);
        for (int i = 0; i < 5; i++) {
            core.yieldNanos = MILLI;
            assertThat(kinds(pauses(backoff, MILLI / 2))).containsExactly("yield");
            assertThat(kinds(pauses(backoff, MILLI / 2))).containsExactly("yield");
            core.yieldNanos = 1_000;
            assertThat(kinds(pauses(backoff, MILLI / 2))).containsExactly("yield");
        }
    }

    /** A sleep costs far more than the moment that most waits take, and who spins takes no core from the program. */
    @Test
    void whereItMaySpinItDoesSoBeforeItSleepsOnACrowdedHost() {
        Backoff backoff = new Backoff(2, 4, progress::incrementAndGet, core);
        core.yieldNanos = 3 * MILLI;
        pauses(backoff, 4 * MILLI);

        assertThat(kinds(pauses(backoff, MILLI / 2))).containsExactly("spin", "sleep 20");
    }

    /** Such as ranks of another container, which believes that it has all cores too. */
    @Test
    void whereThreadsOfOtherProgramsWantTheCoreForMomentsItYieldsAtOnce() {
        Backoff backoff = new Backoff(2, 2, progress::incrementAndGet, core);
        core.yieldNanos = 20_000;
        backoff.begin();
        while (!core.did.contains("yield")) {
            backoff.pause();
        }
        assertThat(kinds(pauses(backoff, MILLI / 2)))
                .as("after a single one, as the system's own threads bring about")
                .startsWith("spin");

        assertThat(kinds(pauses(backoff, MILLI / 2))).containsExactly("yield");
        core.yieldNanos = 1_000;
        for (int wait = 0; wait < 64; wait++) {
            pauses(backoff, 2_000);
        }
        assertThat(kinds(pauses(backoff, MILLI / 2))).as("when they have gone").startsWith("spin");
    }

    @Test
    void aLongWaitDoubtsEveryTwentyMillisecondsAndEachWaitForItself() {
        for (Backoff backoff : List.of(
                new Backoff(2, 4, progress::incrementAndGet, core),
                new Backoff(4, 2, progress::incrementAndGet, core))) {
            assertThat(doubtsAfterMillis(backoff, 19 * MILLI)).isEmpty();
            List<Long> doubts = doubtsAfterMillis(backoff, 100 * MILLI);
            assertThat(doubts).hasSize(4);
            for (int i = 0; i < doubts.size(); i++) {
                assertThat(doubts.get(i)).isBetween((i + 1) * 20L, (i + 1) * 20L + 2 * (i + 1));
            }
        }
    }
}
