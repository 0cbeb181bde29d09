package io.hvd.control;

import io.hvd.config.HvdConfig;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.ControlPlane;
import io.hvd.spi.LastBarrier;
import io.hvd.spi.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Control channels over sockets, each of which is a star of connections around rank 0. */
public final class SocketStars implements ControlPlane {
    private final Bootstrap bootstrap;
    private final HvdConfig config;
    private final Consumer<LastBarrier> heir;
    private final List<SocketControl> stars = new ArrayList<>();
    private final FinalBarrier barrier;
    private boolean firstTaken;

    /**
     * Connects the ranks; all of them come here together.
     *
     * @param heir takes the barrier at which the ranks have met when they left the job in order
     * @throws io.hvd.error.HvdException on all ranks if one of them could not do its part
     */
    public SocketStars(Bootstrap bootstrap, HvdConfig config, Consumer<LastBarrier> heir) {
        this.bootstrap = bootstrap;
        this.config = config;
        this.heir = heir;
        Topology topology = bootstrap.topology();
        List<SocketControl> both = SocketControl.connect(topology, config, bootstrap::exchange, 2);
        stars.add(both.get(0));
        this.barrier = new FinalBarrier(both.get(1), topology.rank(), topology.size());
    }

    /** The first channel has been connected together with the barrier, by the same exchange. */
    @Override
    public ControlChannel open() {
        if (!firstTaken) {
            firstTaken = true;
            return stars.get(0);
        }
        SocketControl star = SocketControl.connect(bootstrap.topology(), config, bootstrap::exchange);
        stars.add(star);
        return star;
    }

    /** Does nothing: the other ranks see the end of this one's connections, or are told by its engine. */
    @Override
    public void abandon(String why) {
        // The connections belong to other threads.
    }

    @Override
    public void discard() {
        stars.forEach(SocketControl::close);
        barrier.close();
    }

    @Override
    public void close() {
        barrier.meet();
        heir.accept(barrier);
        stars.forEach(SocketControl::close);
    }
}
