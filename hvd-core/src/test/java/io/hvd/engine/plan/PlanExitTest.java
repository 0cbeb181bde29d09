package io.hvd.engine.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.host.local.LocalProvider;
import io.hvd.spi.Backend;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** Three ranks whose communication threads do nothing at all. */
@Timeout(value = 20, threadMode = ThreadMode.SEPARATE_THREAD)
class PlanExitTest {
    private static final int SIZE = 3;

    private final List<PlanExit> exits = new ArrayList<>();
    /** How often each rank's communication thread has been woken. */
    private final List<Semaphore> woken = new ArrayList<>();

    @BeforeEach
    void open() {
        for (LocalProvider provider : LocalProvider.ofThreads(SIZE, 4096)) {
            Backend backend = provider.open(HvdConfig.from(Map.of()), List.of());
            Semaphore wakes = new Semaphore(0);
            woken.add(wakes);
            exits.add(PlanExit.open(backend, true, wakes::release));
        }
    }

    @AfterEach
    void close() {
        exits.forEach(PlanExit::close);
    }

    @Test
    void whoeverAsksEveryRankHearsOfItAndIsWokenOnceForAPlan() throws Exception {
        for (int plan = 1; plan <= 9; plan++) {
            exits.get(plan % SIZE).ask(plan);
            for (Semaphore wakes : woken) {
                wakes.acquire();
            }
            for (PlanExit exit : exits) {
                assertThat(exit.isAsked(plan)).isTrue();
                assertThat(exit.isAsked(plan + 1)).isFalse();
            }
        }
        // Asked by all at once, and for a plan that has ended.
        exits.forEach(exit -> exit.ask(10));
        exits.forEach(exit -> exit.ask(4));
        exits.forEach(PlanExit::close);
        assertThat(woken)
                .allSatisfy(wakes -> assertThat(wakes.availablePermits()).isEqualTo(1));
    }

    @Test
    void aRankMayHearOfAPlanThatHasNotBegunThereYet() throws Exception {
        exits.get(1).ask(7);
        woken.get(2).acquire();

        assertThat(exits.get(2).isAsked(5)).isTrue();
        assertThat(exits.get(2).isAsked(7)).isTrue();
    }

    @Test
    void oneRankAloneNeedsNobody() {
        Semaphore wakes = new Semaphore(0);
        Backend alone = LocalProvider.ofThreads(1, 4096).get(0).open(HvdConfig.from(Map.of()), List.of());
        PlanExit exit = PlanExit.open(alone, true, wakes::release);

        exit.ask(1);
        exit.close();

        assertThat(exit.isAsked(1)).isTrue();
        assertThat(wakes.availablePermits()).isEqualTo(1);
    }
}
