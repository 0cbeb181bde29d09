package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.net.StartupExchange.Told;
import io.hvd.testing.DamagedMessages;
import io.hvd.testing.Exchange;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class StartupExchangeTest {
    private static final int SIZE = 3;

    /** Every rank's result. */
    private static List<CompletableFuture<List<byte[]>>> hold(StartupExchange.Part... parts) {
        Exchange exchange = new Exchange(SIZE);
        List<CompletableFuture<List<byte[]>>> held = new ArrayList<>();
        for (int i = 0; i < SIZE; i++) {
            int rank = i;
            held.add(CompletableFuture.supplyAsync(
                    () -> StartupExchange.hold("rank " + rank + " could not", parts[rank], exchange.of(rank)),
                    task -> new Thread(task, "rank-" + rank).start()));
        }
        return held;
    }

    @Test
    void everyRankHearsWhatTheOthersTell() {
        for (CompletableFuture<List<byte[]>> rank :
                hold(() -> new byte[] {7}, () -> new byte[0], () -> new byte[] {1, 2})) {
            assertThat(rank.join()).containsExactly(new byte[] {7}, new byte[0], new byte[] {1, 2});
        }
    }

    @Test
    void aRankThatFailsIsNamedOnEveryRankAndOnItsOwnTheCauseIsKept() {
        IOException full = new IOException("too many open files");
        List<CompletableFuture<List<byte[]>>> held = hold(
                () -> new byte[0],
                () -> {
                    throw full;
                },
                () -> {
                    throw new NoClassDefFoundError("a/Class");
                });

        for (int rank = 0; rank < SIZE; rank++) {
            assertThatThrownBy(held.get(rank)::join)
                    .isInstanceOf(CompletionException.class)
                    .cause()
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.INIT_FAILED))
                    .hasMessage("[HVD-102] rank 1 could not: java.io.IOException: too many open files; "
                            + "rank 2 could not: java.lang.NoClassDefFoundError: a/Class");
        }
        assertThatThrownBy(held.get(0)::join).cause().hasNoCause();
        assertThatThrownBy(held.get(1)::join).cause().hasCause(full);
    }

    @Test
    void whatARankTellsIsRefusedIfItIsDamaged() {
        DamagedMessages.of(new Told(new byte[5], Optional.of("no room")).encode(), Told::decode);
        DamagedMessages.of(new Told(new byte[5], Optional.empty()).encode(), Told::decode);
    }
}
