package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.optimizer.SharePlan.Holding;
import java.util.List;
import org.junit.jupiter.api.Test;

class SharePlanTest {
    private static final Holding NEW = new Holding(0, 0, 2, 0, true, 0);

    private static Holding share(long dealing, long commits, int rank) {
        return new Holding(dealing, commits, 3, rank, false, dealing);
    }

    private static Holding whole(long dealing, long commits, int rank) {
        return new Holding(dealing, commits, 3, rank, true, dealing);
    }

    @Test
    void sharesAreTakenFromWhoeverHoldsThemNow() {
        assertThat(SharePlan.of(List.of(NEW, share(4, 9, 2), share(4, 9, 0)), 1))
                .isEqualTo(new SharePlan(5, -1, List.of(2, -1, 1)));
    }

    @Test
    void aRootThatHasNeverBeenDealtAShareGivesWhatItHas() {
        assertThat(SharePlan.of(List.of(share(4, 0, 1), NEW), 1)).isEqualTo(new SharePlan(5, 1, List.of()));
    }

    @Test
    void whoHasAShareOfTheNewestDealingHasTheWhole() {
        assertThat(SharePlan.of(List.of(share(4, 7, 0), whole(5, 0, 2), share(4, 7, 1)), 0))
                .isEqualTo(new SharePlan(6, 1, List.of()));
        assertThat(SharePlan.of(List.of(whole(5, 0, 0), whole(4, 7, 0), whole(5, 0, 2)), 2))
                .as("the root before others")
                .isEqualTo(new SharePlan(6, 2, List.of()));
    }

    @Test
    void aWholeOfFewerStepsThanTheSharesIsLeftAside() {
        assertThat(SharePlan.of(List.of(share(4, 1, 0), whole(4, 0, 1)), 0))
                .isEqualTo(new SharePlan(5, -1, List.of(0, 1, -1)));
        assertThat(SharePlan.of(List.of(whole(4, 1, 0), whole(4, 0, 1)), 1)).isEqualTo(new SharePlan(5, 0, List.of()));
    }

    /** A rank may have been dealt a share of it before it was lost. */
    @Test
    void theNextNumberIsAboveAllThatARankHasHeardOf() {
        assertThat(SharePlan.of(List.of(new Holding(4, 2, 3, 0, false, 8), share(4, 2, 1)), 0)
                        .number())
                .isEqualTo(9);
    }

    @Test
    void aHoldingTravelsAsNumbers() {
        Holding one = new Holding(1L << 40, 3, 5, 4, true, 1L << 41);
        long[] all = new long[2 * Holding.LENGTH];
        System.arraycopy(one.encode(), 0, all, Holding.LENGTH, Holding.LENGTH);
        assertThat(Holding.decode(all, Holding.LENGTH)).isEqualTo(one);
    }
}
