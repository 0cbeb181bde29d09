package io.hvd.backend.nccl;

import io.hvd.spi.Backend;
import io.hvd.spi.Collectives;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.Topology;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.stream.IntStream;

/** A host back end whose tensors on GPUs go their own way; everything else stays with the host's. */
final class NcclBackend implements Backend {
    private static final int UNIQUE_ID_BYTES = 128;

    private final Backend host;
    private final String description;
    private final RankGpu gpu;
    /** Null without NCCL. */
    private final NcclCalls nccl;

    private final boolean asynchronous;
    /** Null where no GPU can be reached. */
    private final DeviceCollectives onGpus;

    private final Collectives collectives;

    private NcclBackend(Backend host, String description, RankGpu gpu, NcclCalls nccl, boolean asynchronous) {
        this.host = host;
        this.description = description;
        this.gpu = gpu;
        this.nccl = nccl;
        this.asynchronous = asynchronous;
        List<Integer> all = IntStream.range(0, host.topology().size()).boxed().toList();
        this.onGpus = gpu == null ? null : over(host.collectives(), all);
        this.collectives = gpu == null ? host.collectives() : onGpus;
    }

    /** All ranks come here together, each with its own GPU. */
    static NcclBackend joined(Backend host, NcclCalls nccl, RankGpu gpu, boolean asynchronous) {
        return new NcclBackend(host, "nccl " + nccl.version() + " over " + host.description(), gpu, nccl, asynchronous);
    }

    /** GPUs are there, but no NCCL: their tensors go through the host. @param gpu null on a rank that has none */
    static NcclBackend throughHost(Backend host, RankGpu gpu, String why) {
        return new NcclBackend(
                host,
                host.description() + ", GPU tensors through the host without NCCL (" + why + ")",
                gpu,
                null,
                false);
    }

    /** GPUs are there, but nothing that reaches their memory: whoever hands over a tensor on one is told why. */
    static NcclBackend withoutGpus(Backend host, String why) {
        return new NcclBackend(host, host.description() + ", no tensors on GPUs (" + why + ")", null, null, false);
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

    @Override
    public Collectives collectives(List<Integer> members) {
        Collectives ofHost = host.collectives(members);
        return gpu == null ? ofHost : over(ofHost, members);
    }

    private DeviceCollectives over(Collectives ofHost, List<Integer> members) {
        StagedCollectives staged = new StagedCollectives(gpu, ofHost);
        if (nccl == null) {
            return DeviceCollectives.throughHost(gpu, ofHost, staged);
        }
        int rank = members.indexOf(topology().rank());
        Tensor id = Tensor.ofBytes(rank == 0 ? nccl.uniqueId() : new byte[UNIQUE_ID_BYTES]);
        ofHost.broadcast(List.of(id), List.of(id), 0);
        NcclCommunicator communicator =
                new NcclCommunicator(nccl, (byte[]) id.toArray(), members.size(), rank, gpu.stream());
        return DeviceCollectives.byNccl(gpu, ofHost, new NcclCollectives(gpu, communicator, asynchronous), staged);
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
        if (gpu != null) {
            onGpus.leaveGpus();
            gpu.close();
        }
        host.close();
    }
}
