package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.spi.Topology;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Exchanger;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ConsistencyCheckTest {
    private static final int ROUNDS = 3;

    private final CompletableFuture<Void> hooks = new CompletableFuture<>();

    private static List<byte[]> prepared(
            int rank, CompletableFuture<Void> hooks, Function<byte[], List<byte[]>> exchange) {
        Topology two = Topology.of(rank, List.of("a", "b"), List.of("a", "b"));
        return ConsistencyCheck.prepared(two, new byte[] {(byte) rank}, new StartupHooks(hooks), 1, exchange);
    }

    private static <T> T with(Exchanger<T> other, T mine) {
        try {
            return other.exchange(mine);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The others would give up a rank that is silent for longer than the start may take. */
    @Test
    void aRankWhoseHooksRunForLongSaysAgainAndAgainThatItIsThere() {
        Exchanger<byte[]> between = new Exchanger<>();
        AtomicInteger rounds = new AtomicInteger();
        CompletableFuture<List<byte[]>> cold = CompletableFuture.supplyAsync(() -> prepared(1, hooks, mine -> {
            if (rounds.incrementAndGet() == ROUNDS) {
                hooks.complete(null);
            }
            return List.of(with(between, mine), mine);
        }));

        List<byte[]> warm =
                prepared(0, CompletableFuture.completedFuture(null), mine -> List.of(mine, with(between, mine)));

        assertThat(warm).containsExactly(new byte[] {0}, new byte[] {1});
        assertThat(cold.join()).containsExactly(new byte[] {0}, new byte[] {1});
        assertThat(rounds.get()).isGreaterThan(ROUNDS);
    }

    @Test
    void aHookThatFailsIsNamed() {
        hooks.completeExceptionally(new IllegalStateException("no library for this rank"));

        assertThatThrownBy(() -> prepared(1, hooks, mine -> List.of(mine, mine)))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("rank 1 (b) could not be prepared")
                .hasMessageContaining("no library for this rank");
    }
}
