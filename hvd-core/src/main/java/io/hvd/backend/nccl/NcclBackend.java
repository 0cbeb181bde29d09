package io.hvd.backend.nccl;

import io.hvd.spi.Backend;
import io.hvd.spi.Collectives;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import java.util.List;

/** A host back end whose tensors on GPUs go through NCCL instead; everything else stays with the host's. */
final class NcclBackend implements Backend {
    private final Backend host;
    private final String description;
    private final Collectives collectives;
    private final Runnable leave;

    private NcclBackend(Backend host, String description, Collectives collectives, Runnable leave) {
        this.host = host;
        this.description = description;
        this.collectives = collectives;
        this.leave = leave;
    }

    /** All ranks come here together, each with its own GPU. */
    static NcclBackend joined(Backend host, NcclCalls nccl, Device device) {
        NcclCommunicator communicator = NcclCommunicator.join(nccl, host, device);
        return new NcclBackend(
                host,
                "nccl " + nccl.version() + " over " + host.description(),
                new NcclCollectives(host.collectives(), communicator),
                communicator::close);
    }

    /** GPUs are there, but no NCCL: whoever hands over a tensor on one is told why. */
    static NcclBackend withoutNccl(Backend host, String why) {
        return new NcclBackend(host, host.description() + " without NCCL (" + why + ")", host.collectives(), () -> {});
    }

    @Override
    public String description() {
        return description;
    }

    @Override
    public Topology topology() {
        return host.topology();
    }

    @Override
    public ControlChannel control() {
        return host.control();
    }

    @Override
    public Collectives collectives() {
        return collectives;
    }

    /** Process sets stay on the host: NCCL has a communicator for all ranks only. */
    @Override
    public Collectives collectives(List<Integer> members) {
        return host.collectives(members);
    }

    @Override
    public List<byte[]> exchange(byte[] mine) {
        return host.exchange(mine);
    }

    @Override
    public ControlChannel openChannel() {
        return host.openChannel();
    }

    @Override
    public void abort(int exitCode, String reason) {
        host.abort(exitCode, reason);
    }

    @Override
    public void close() {
        leave.run();
        host.close();
    }
}
