package io.hvd.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.net.MessageReader;
import io.hvd.spi.Topology;
import io.hvd.testing.Exchange;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;

/** All ends of a control plane in this JVM. */
final class Star {
    private static final HvdConfig CONFIG = HvdConfig.from(Map.of("HOROVOD_START_TIMEOUT", "20"));

    private Star() {}

    static List<SocketControl> connect(int size) throws Exception {
        return connect(size, address -> {});
    }

    /**
     * @param beforeTheOthers is shown what rank 0 is about to tell, while it listens already
     */
    static List<SocketControl> connect(int size, Consumer<byte[]> beforeTheOthers) throws Exception {
        return several(size, 1, beforeTheOthers).stream()
                .map(stars -> stars.get(0))
                .toList();
    }

    /** Each rank's ends of several stars. */
    static List<List<SocketControl>> several(int size, int stars, Consumer<byte[]> beforeTheOthers) throws Exception {
        Exchange exchange = new Exchange(size);
        List<CompletableFuture<List<SocketControl>>> ends = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            int rank = i;
            Function<byte[], List<byte[]>> told = mine -> {
                meeting(mine).ifPresent(beforeTheOthers);
                return exchange.of(rank).apply(mine);
            };
            ends.add(CompletableFuture.supplyAsync(
                    () -> SocketControl.connect(topology(rank, size), CONFIG, told, stars),
                    task -> new Thread(task, "connect-" + rank).start()));
        }
        List<List<SocketControl>> connected = new ArrayList<>();
        for (CompletableFuture<List<SocketControl>> end : ends) {
            connected.add(get(end));
        }
        return connected;
    }

    /** What rank 0 tells in the exchange at the start; nobody else has anything to tell. */
    static Optional<byte[]> meeting(byte[] told) {
        byte[] words = MessageReader.decode("what a rank tells at the start", told, in -> {
            assertThat(in.readBoolean()).as("complaint").isFalse();
            return in.readBytes();
        });
        return Optional.of(words).filter(any -> words.length > 0);
    }

    /** A rank without others, by the test's clock. */
    static SocketControl alone(SelectorWait.Clock clock) {
        Topology one = topology(0, 1);
        return SocketControl.connect(new StarConnector(one, CONFIG, 1), one, List::of, clock)
                .get(0);
    }

    static Topology topology(int rank, int size) {
        return Topology.of(rank, Collections.nCopies(size, "node"), Collections.nCopies(size, "host"));
    }

    private static <T> T get(CompletableFuture<T> end)
            throws InterruptedException, TimeoutException, ExecutionException {
        return end.get(25, TimeUnit.SECONDS);
    }
}
