package io.hvd.echo;

import io.hvd.collective.SimulatedNetwork;
import io.hvd.spi.Abandonment;
import io.hvd.spi.Transfers;
import io.hvd.testing.Exchange;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** What the ranks of an echo job have in common: a way to tell each other at the start, and a network for each group. */
public final class EchoHub {
    private final int size;
    private final Exchange exchange;
    private final Abandonment abandonment = new Abandonment();
    private final Map<String, SimulatedNetwork> networks = new ConcurrentHashMap<>();

    public EchoHub(int size) {
        this.size = size;
        this.exchange = new Exchange(size);
    }

    int size() {
        return size;
    }

    List<byte[]> exchange(int rank, byte[] mine) {
        return exchange.of(rank).apply(mine);
    }

    /** No rank waits for a message any longer. */
    public void abandon(String why) {
        abandonment.abandon(why);
    }

    /** @param number how many groups of these members there were before */
    Transfers transfers(List<Integer> members, int number, int place) {
        Transfers inner = networks.computeIfAbsent(members + " " + number, any -> new SimulatedNetwork(members.size()))
                .of(place);
        return new Transfers() {
            @Override
            public int fastestBytes() {
                return inner.fastestBytes();
            }

            @Override
            public Transfer send(ByteBuffer bytes, int to, int tag) {
                return unlessAbandoned(inner.send(bytes, to, tag));
            }

            @Override
            public Transfer receive(ByteBuffer bytes, int from, int tag) {
                return unlessAbandoned(inner.receive(bytes, from, tag));
            }
        };
    }

    private Transfers.Transfer unlessAbandoned(Transfers.Transfer transfer) {
        return () -> {
            abandonment.check();
            return transfer.isDone();
        };
    }
}
