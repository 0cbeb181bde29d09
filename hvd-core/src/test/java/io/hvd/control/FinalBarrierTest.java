package io.hvd.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Three ranks at the end of their job, over real sockets. */
@Timeout(60)
class FinalBarrierTest {
    private static final int SIZE = 3;
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final Duration LONG = Duration.ofHours(1);

    private final List<SocketControl> stars = new ArrayList<>();
    private final List<FinalBarrier> ranks = new ArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @BeforeEach
    void connect() throws Exception {
        stars.addAll(Star.connect(SIZE));
        for (int rank = 0; rank < SIZE; rank++) {
            ranks.add(new FinalBarrier(stars.get(rank), rank, SIZE));
        }
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
        stars.forEach(SocketControl::close);
    }

    private CompletableFuture<Boolean> meet(int rank) {
        return CompletableFuture.supplyAsync(() -> ranks.get(rank).meet(), threads);
    }

    private static boolean get(CompletableFuture<Boolean> met) throws Exception {
        return met.get(20, TimeUnit.SECONDS);
    }

    private void allMeet() throws Exception {
        List<CompletableFuture<Boolean>> met = List.of(meet(0), meet(1), meet(2));
        for (CompletableFuture<Boolean> of : met) {
            assertThat(get(of)).isTrue();
        }
    }

    @Test
    void everybodyComesOneAfterTheOther() throws Exception {
        for (int last = 0; last < SIZE; last++) {
            List<CompletableFuture<Boolean>> early = new ArrayList<>();
            for (int rank = 0; rank < SIZE; rank++) {
                if (rank != last) {
                    early.add(meet(rank));
                }
            }
            assertThat(early).as("without rank " + last).noneMatch(CompletableFuture::isDone);
            assertThat(get(meet(last))).isTrue();
            for (CompletableFuture<Boolean> met : early) {
                assertThat(get(met)).isTrue();
            }
        }
    }

    @Test
    void nobodyWaitsForARankThatHasGone() throws Exception {
        allMeet();
        CompletableFuture<Boolean> one = meet(1);
        CompletableFuture<Boolean> zero = meet(0);

        stars.get(2).close();

        assertThat(get(zero)).isFalse();
        assertThat(get(one)).isFalse();
    }

    @Test
    void nobodyWaitsForRankZeroOnceItHasGone() throws Exception {
        allMeet();
        CompletableFuture<Boolean> one = meet(1);
        CompletableFuture<Boolean> two = meet(2);

        stars.get(0).close();

        assertThat(get(one)).isFalse();
        assertThat(get(two)).isFalse();
    }

    @Test
    void aRankThatHasComeMayGoBeforeTheOthersCome() throws Exception {
        allMeet();
        ranks.get(2).leave(true, SHORT);
        stars.get(2).close();
        CompletableFuture<Boolean> zero = meet(0);
        assertThat(zero).isNotDone();

        assertThat(get(meet(1))).isTrue();
        assertThat(get(zero)).isTrue();
    }

    @Test
    void aRankThatLeavesWellNeedsNotWait() throws Exception {
        allMeet();
        ranks.get(2).leave(true, SHORT);
        CompletableFuture<Boolean> one = meet(1);

        assertThat(get(meet(0))).isTrue();
        assertThat(get(one)).isTrue();
    }

    private CompletableFuture<OptionalInt> again(int rank) {
        return CompletableFuture.supplyAsync(() -> ranks.get(rank).meetAgain(), threads);
    }

    @Test
    void allJoinAgainAndLeave() throws Exception {
        allMeet();
        for (CompletableFuture<OptionalInt> joins : List.of(again(2), again(0), again(1))) {
            assertThat(joins.get(20, TimeUnit.SECONDS)).isEmpty();
        }
        allMeet();
    }

    @Test
    void anInterruptEndsNoWaitAndIsKept() throws Exception {
        allMeet();
        CompletableFuture<Boolean> interrupted = CompletableFuture.supplyAsync(
                () -> {
                    Thread.currentThread().interrupt();
                    return ranks.get(1).meetAgain().isEmpty() && Thread.interrupted();
                },
                threads);
        CompletableFuture<OptionalInt> zero = again(0);
        assertThat(interrupted).isNotDone();

        assertThat(again(2).get(20, TimeUnit.SECONDS)).isEmpty();
        assertThat(zero.get(20, TimeUnit.SECONDS)).isEmpty();
        assertThat(get(interrupted)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void whoJoinsAgainLearnsWhichRankEnds(int ends) throws Exception {
        allMeet();
        List<CompletableFuture<OptionalInt>> joining = new ArrayList<>();
        for (int rank = 0; rank < SIZE; rank++) {
            if (rank != ends) {
                joining.add(again(rank));
            }
        }
        assertThat(joining).noneMatch(CompletableFuture::isDone);

        assertThat(get(meet(ends))).isFalse();
        for (CompletableFuture<OptionalInt> joins : joining) {
            assertThat(joins.get(20, TimeUnit.SECONDS)).hasValue(ends);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void whoJoinsAgainLearnsWhichRankIsGone(int gone) throws Exception {
        allMeet();
        stars.get(gone).close();

        for (int rank = 0; rank < SIZE; rank++) {
            if (rank != gone) {
                assertThat(again(rank).get(20, TimeUnit.SECONDS)).hasValue(gone);
            }
        }
    }

    private CompletableFuture<Void> leave(boolean well, Duration limit) {
        return CompletableFuture.runAsync(() -> ranks.get(0).leave(well, limit), threads);
    }

    @Test
    void rankZeroStaysForTheOthersWhenItLeaves() throws Exception {
        allMeet();
        CompletableFuture<Void> zero = leave(true, LONG);
        CompletableFuture<Boolean> one = meet(1);
        assertThat(zero).isNotDone();
        ranks.get(2).leave(true, SHORT);

        zero.get(20, TimeUnit.SECONDS);
        assertThat(get(one)).isTrue();
    }

    @Test
    void rankZeroStaysNoLongerThanItsLimit() throws Exception {
        allMeet();
        CompletableFuture<Boolean> one = meet(1);
        leave(true, SHORT).get(20, TimeUnit.SECONDS);

        assertThat(get(one)).isFalse();
    }

    @Test
    void rankZeroThatLeavesWithAFailureStaysForNobody() throws Exception {
        allMeet();
        CompletableFuture<Boolean> one = meet(1);
        leave(false, LONG).get(20, TimeUnit.SECONDS);

        assertThat(get(one)).isFalse();
    }

    @Test
    void oneThatLeavesWithAFailureIsNoAgreement() throws Exception {
        allMeet();
        ranks.get(2).leave(false, SHORT);
        CompletableFuture<Boolean> one = meet(1);

        assertThat(get(meet(0))).isFalse();
        assertThat(get(one)).isFalse();
    }
}
