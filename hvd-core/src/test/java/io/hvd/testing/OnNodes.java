package io.hvd.testing;

import io.hvd.config.HvdConfig;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.Topology;
import java.util.List;
import java.util.concurrent.Executor;

/** The threads of this JVM, as if they were spread over nodes. */
public final class OnNodes {
    private OnNodes() {}

    /** @param nodes that of every rank */
    public static BackendProvider of(BackendProvider provider, int rank, List<String> nodes) {
        return new BackendProvider() {
            @Override
            public String name() {
                return provider.name();
            }

            @Override
            public Executor communicationThread() {
                return provider.communicationThread();
            }

            @Override
            public Backend open(HvdConfig config, List<Integer> ranks) {
                Backend inner = provider.open(config, ranks);
                return Recomposed.of(
                        inner,
                        new There(inner.bootstrap(), Topology.of(rank, nodes, nodes)),
                        new Recomposed.Control(inner),
                        new Recomposed.Planes(inner));
            }
        };
    }

    private record There(Bootstrap inner, Topology topology) implements Bootstrap {
        @Override
        public int generation() {
            return inner.generation();
        }

        @Override
        public List<byte[]> exchange(byte[] mine) {
            return inner.exchange(mine);
        }
    }
}
