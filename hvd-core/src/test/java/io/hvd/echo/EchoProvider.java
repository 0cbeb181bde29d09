package io.hvd.echo;

import io.hvd.config.HvdConfig;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.LastBarrier;
import io.hvd.spi.Topology;
import io.hvd.spi.Transport;
import io.hvd.spi.TransportProvider;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Executor;

/** All that a transport needs to be one: connects ranks that are threads of this JVM as if they were processes. */
public final class EchoProvider implements TransportProvider {
    private final EchoHub hub;
    private final int rank;

    /** As the service loader makes it: a rank that is alone. */
    public EchoProvider() {
        this(new EchoHub(1), 0);
    }

    public EchoProvider(EchoHub hub, int rank) {
        this.hub = hub;
        this.rank = rank;
    }

    @Override
    public String name() {
        return "echo";
    }

    @Override
    public Executor communicationThread() {
        return task -> {
            Thread thread = new Thread(task, "hvd-engine-" + rank);
            thread.setDaemon(true);
            thread.start();
        };
    }

    @Override
    public Connection connect(HvdConfig config, List<Integer> ranks) {
        List<String> one = Collections.nCopies(hub.size(), "localhost");
        return new EchoConnection(new EchoBootstrap(hub, Topology.of(rank, one, one)), new EchoTransport(hub, rank));
    }

    private record EchoConnection(Bootstrap bootstrap, Transport transport) implements Connection {
        @Override
        public void inherit(LastBarrier barrier) {
            barrier.close();
        }
    }

    private record EchoBootstrap(EchoHub hub, Topology topology) implements Bootstrap {
        @Override
        public int generation() {
            return 0;
        }

        @Override
        public List<byte[]> exchange(byte[] mine) {
            return hub.exchange(topology.rank(), mine);
        }
    }
}
