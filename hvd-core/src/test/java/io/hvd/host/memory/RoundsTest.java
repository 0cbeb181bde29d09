package io.hvd.host.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.ShutdownException;
import io.hvd.host.memory.Layout.Counter;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** Ranks that die while others wait for them; time goes on only while somebody waits. */
@Timeout(value = 20, threadMode = ThreadMode.SEPARATE_THREAD)
class RoundsTest {
    private static final long MILLI = 1_000_000;
    private static final List<Integer> RANKS = List.of(4, 5, 7);
    private static final Layout THREE = new Layout(3, 4096);

    private final ByteBuffer memory = ByteBuffer.allocateDirect(THREE.bytes());
    private final ManualCore core = new ManualCore();
    private final Dead dead = new Dead();

    /** By their places. */
    private final class Dead implements MemoryGroup {
        final Set<Integer> places = new HashSet<>();
        final List<Long> asked = new ArrayList<>();
        Runnable onQuestion = () -> {};

        @Override
        public boolean hasEnded(int place) {
            asked.add(core.now);
            onQuestion.run();
            return places.contains(place);
        }

        @Override
        public ShutdownException without(int place) {
            return new ShutdownException("rank " + RANKS.get(place) + " is gone");
        }

        @Override
        public void close() {}
    }

    private Segment segment(int place) {
        return new Segment(THREE, place, memory.duplicate());
    }

    private Rounds rank(int place) {
        return new Rounds(segment(place), dead, new Backoff(3, 2, () -> {}, core));
    }

    @Test
    void aRankThatDiesBeforeItHasComeSoFarIsNamedWithinAHundredMilliseconds() {
        Rounds first = rank(0);
        core.onSleep = () -> {
            if (core.now > 500 * MILLI) {
                dead.places.add(2);
            }
        };
        assertThatThrownBy(() -> first.await(Counter.PACKED, 2, 1))
                .isInstanceOfSatisfying(
                        ShutdownException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.SHUT_DOWN))
                .hasMessageEndingWith("rank 7 is gone");
        assertThat(core.now).isBetween(500 * MILLI, 530 * MILLI);
    }

    /** What goes to other hosts may itself wait for what the dead one has not sent. */
    @Test
    void aDeadRankIsFoundAlsoWhileTheNetworkIsNeverDone() {
        Rounds first = rank(0);
        dead.places.add(2);
        first.meanwhile(() -> {
            core.now += MILLI;
            return true;
        });

        assertThatThrownBy(() -> first.await(Counter.PACKED, 2, 1)).hasMessageContaining("rank 7 is gone");
        assertThat(core.now).isLessThan(100 * MILLI);
    }

    @Test
    void allRanksOfARoundAreWaitedForAndTheDeadOneIsFoundAmongThem() {
        Rounds first = rank(0);
        segment(0).publish(Counter.REDUCED, 3);
        segment(1).publish(Counter.REDUCED, 3);
        dead.places.add(2);

        assertThatThrownBy(() -> first.await(Counter.REDUCED, 3)).hasMessageContaining("rank 7 is gone");
    }

    /** The others wait for one who lives, but will do nothing more. */
    @Test
    void whoeverWaitsForTheOneThatHasFoundItHearsOfTheSameDeath() {
        dead.places.add(2);
        assertThatThrownBy(() -> rank(0).await(Counter.PACKED, 2, 1)).hasMessageContaining("rank 7");

        assertThatThrownBy(() -> rank(1).await(Counter.REDUCED, 0, 1)).hasMessageContaining("rank 7 is gone");
    }

    /** It may have been the survivor's end that the lock tells of. */
    @Test
    void theFirstDeathIsToldAlsoWhereItsFinderHasEndedMeanwhile() {
        dead.places.add(2);
        assertThatThrownBy(() -> rank(0).await(Counter.PACKED, 2, 1)).hasMessageContaining("rank 7");
        dead.places.add(0);

        assertThatThrownBy(() -> rank(1).await(Counter.REDUCED, 0, 1)).hasMessageContaining("rank 7 is gone");
    }

    @Test
    void aRankThatLeavesAfterItHasComeSoFarIsMissedByNobody() {
        Rounds first = rank(0);
        dead.places.add(1);
        dead.onQuestion = () -> segment(1).publish(Counter.PACKED, 5);

        first.await(Counter.PACKED, 1, 5);

        assertThat(dead.asked).hasSize(1);
    }

    @Test
    void aRankThatOnlyTakesItsTimeIsWaitedForAndAskedAfterSeldom() {
        Rounds first = rank(0);
        core.onSleep = () -> {
            if (core.now > 2_000 * MILLI) {
                segment(1).publish(Counter.PACKED, 1);
            }
        };
        first.await(Counter.PACKED, 1, 1);

        assertThat(core.now).isGreaterThan(2_000 * MILLI);
        assertThat(dead.asked).hasSizeBetween(90, 100);
    }

    @Test
    void nobodyIsAskedAfterInAShortWait() {
        Rounds first = rank(0);
        core.onSleep = () -> {
            if (core.now > 15 * MILLI) {
                segment(1).publish(Counter.PACKED, 1);
            }
        };
        first.await(Counter.PACKED, 1, 1);

        assertThat(dead.asked).isEmpty();
    }
}
