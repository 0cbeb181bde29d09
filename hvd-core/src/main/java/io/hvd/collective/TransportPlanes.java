package io.hvd.collective;

import io.hvd.config.HvdConfig;
import io.hvd.spi.DataPlane;
import io.hvd.spi.DataPlanes;
import io.hvd.spi.Progress;
import io.hvd.spi.Topology;
import io.hvd.spi.Transport;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;

/** Data planes over a transport alone, whose ranks share nothing. */
public final class TransportPlanes implements DataPlanes {
    private final Transport transport;
    private final Topology topology;
    private final HvdConfig config;
    private final NetworkWait wait;
    private final DataPlane all;

    /** All ranks come here together. */
    public TransportPlanes(Transport transport, Topology topology, HvdConfig config) {
        this.transport = transport;
        this.topology = topology;
        this.config = config;
        this.wait = NetworkWait.of(topology.localSize(), transport::rest);
        this.all = of(IntStream.range(0, topology.size()).boxed().toList());
    }

    @Override
    public DataPlane ofAll() {
        return all;
    }

    @Override
    public DataPlane of(List<Integer> members) {
        long hosts = members.stream().map(topology.nodes()::get).distinct().count();
        return new TransportCollectives(
                transport.group(members),
                members.indexOf(topology.rank()),
                members.size(),
                wait,
                config.memory().stageBytes(),
                new AllreduceChoice(config.mpi().allreduce(), Math.toIntExact(hosts)),
                transport.kernel());
    }

    /** Changes nothing, because {@link NetworkWait} goes by the number of cores. */
    @Override
    public void programWaits(BooleanSupplier waits) {
        // Nothing asks it.
    }

    @Override
    public Progress progress() {
        return transport.progress();
    }

    @Override
    public void abandon(String why) {
        transport.abandon(why);
    }

    @Override
    public void leave() {
        // The ranks share nothing but the transport.
    }

    @Override
    public void close() {
        transport.close();
    }
}
