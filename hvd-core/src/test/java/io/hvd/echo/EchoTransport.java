package io.hvd.echo;

import io.hvd.kernel.ReduceKernel;
import io.hvd.spi.ByteCollectives;
import io.hvd.spi.Progress;
import io.hvd.spi.Transfers;
import io.hvd.spi.Transport;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** Hands messages to other ranks of this JVM, and has nothing but transfers. */
final class EchoTransport implements Transport {
    private final EchoHub hub;
    private final int rank;
    private final Map<List<Integer>, Integer> groups = new HashMap<>();

    EchoTransport(EchoHub hub, int rank) {
        this.hub = hub;
        this.rank = rank;
    }

    @Override
    public String description() {
        return "echo";
    }

    @Override
    public Group group(List<Integer> members) {
        int number = groups.merge(members, 1, Integer::sum);
        return new EchoGroup(hub.transfers(members, number, members.indexOf(rank)));
    }

    private record EchoGroup(Transfers transfers) implements Group {
        @Override
        public Optional<ByteCollectives> collectives() {
            return Optional.empty();
        }

        @Override
        public void close() {
            // There is nothing to release but memory.
        }
    }

    @Override
    public void rest(long nanos) {
        LockSupport.parkNanos(nanos);
    }

    @Override
    public Progress progress() {
        return Progress.NONE;
    }

    @Override
    public ReduceKernel kernel() {
        return ReduceKernel.NONE;
    }

    @Override
    public void abandon(String why) {
        hub.abandon(why);
    }

    @Override
    public void close() {
        // There is nothing to release but memory.
    }
}
