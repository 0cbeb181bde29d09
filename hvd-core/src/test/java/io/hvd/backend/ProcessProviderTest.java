package io.hvd.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.echo.EchoProvider;
import io.hvd.kernel.ReduceKernel;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.LastBarrier;
import io.hvd.spi.Progress;
import io.hvd.spi.Topology;
import io.hvd.spi.Transport;
import io.hvd.spi.TransportProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;

/** A rank that is alone, over a transport that notes when it is given up. */
class ProcessProviderTest {
    private static final HvdConfig CONFIG = HvdConfig.from(Map.of("HVD_SHARED_MEMORY", "0"));

    private final EchoProvider echo = new EchoProvider();
    private final List<String> givenUp = new ArrayList<>();

    @Test
    void aBackEndThatIsDiscardedGivesUpItsTransport() {
        new ProcessProvider(new Noted(false, false)).open(CONFIG, List.of()).discard();
        assertThat(givenUp).containsExactly("this rank has left the job, which has failed or has not begun");
    }

    @Test
    void aRankWhoseControlPlaneFailsGivesUpItsTransport() {
        ProcessProvider provider = new ProcessProvider(new Noted(true, false));
        assertThatThrownBy(() -> provider.open(CONFIG, List.of())).hasMessage("the exchange fails");
        assertThat(givenUp).singleElement().asString().endsWith("the exchange fails");
    }

    @Test
    void aRankWhoseDataPlaneFailsGivesUpItsTransport() {
        ProcessProvider provider = new ProcessProvider(new Noted(false, true));
        assertThatThrownBy(() -> provider.open(CONFIG, List.of())).hasMessage("the group fails");
        assertThat(givenUp).singleElement().asString().endsWith("the group fails");
    }

    private final class Noted implements TransportProvider {
        private final boolean exchangeFails;
        private final boolean groupFails;

        Noted(boolean exchangeFails, boolean groupFails) {
            this.exchangeFails = exchangeFails;
            this.groupFails = groupFails;
        }

        @Override
        public String name() {
            return "noted";
        }

        @Override
        public Executor communicationThread() {
            return echo.communicationThread();
        }

        @Override
        public Connection connect(HvdConfig config, List<Integer> ranks) {
            Connection inner = echo.connect(config, ranks);
            return new NotedConnection(
                    exchangeFails ? new FailingExchange(inner.bootstrap().topology()) : inner.bootstrap(),
                    new NotedTransport(inner.transport(), groupFails, givenUp));
        }
    }

    private record NotedConnection(Bootstrap bootstrap, Transport transport) implements TransportProvider.Connection {
        @Override
        public void inherit(LastBarrier barrier) {
            barrier.close();
        }
    }

    private record FailingExchange(Topology topology) implements Bootstrap {
        @Override
        public int generation() {
            return 0;
        }

        @Override
        public List<byte[]> exchange(byte[] mine) {
            throw new IllegalStateException("the exchange fails");
        }
    }

    private record NotedTransport(Transport inner, boolean groupFails, List<String> givenUp) implements Transport {
        @Override
        public String description() {
            return inner.description();
        }

        @Override
        public Group group(List<Integer> members) {
            if (groupFails) {
                throw new IllegalStateException("the group fails");
            }
            return inner.group(members);
        }

        @Override
        public Progress progress() {
            return inner.progress();
        }

        @Override
        public void rest(long nanos) {
            inner.rest(nanos);
        }

        @Override
        public ReduceKernel kernel() {
            return inner.kernel();
        }

        @Override
        public void abandon(String why) {
            givenUp.add(why);
        }

        @Override
        public void close() {
            inner.close();
        }
    }
}
