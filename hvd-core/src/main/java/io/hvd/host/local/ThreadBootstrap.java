package io.hvd.host.local;

import io.hvd.spi.Bootstrap;
import io.hvd.spi.Topology;
import java.util.Collections;
import java.util.List;

/** A rank among the threads of a JVM, which are the whole job; with one thread, a rank that is alone. */
final class ThreadBootstrap implements Bootstrap {
    private final LocalHub hub;
    private final Topology topology;
    private final int generation;

    ThreadBootstrap(LocalHub hub, int rank, String host, int generation) {
        this.hub = hub;
        this.generation = generation;
        this.topology =
                Topology.of(rank, Collections.nCopies(hub.size(), "this JVM"), Collections.nCopies(hub.size(), host));
    }

    @Override
    public Topology topology() {
        return topology;
    }

    @Override
    public int generation() {
        return generation;
    }

    @Override
    public List<byte[]> exchange(byte[] mine) {
        hub.exchanged().set(topology.rank(), mine);
        hub.rendezvous().meet();
        List<byte[]> all = List.copyOf(hub.exchanged());
        hub.rendezvous().meet();
        return all;
    }
}
