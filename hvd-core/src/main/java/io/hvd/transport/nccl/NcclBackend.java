package io.hvd.transport.nccl;

import io.hvd.config.GpuSettings;
import io.hvd.kernel.ReduceKernel;
import io.hvd.spi.Backend;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Progress;
import io.hvd.spi.Topology;
import io.hvd.spi.Transfers;
import io.hvd.transport.nccl.library.NcclCalls;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;

/** A back end that adds collectives for tensors on GPUs to a host back end, which does everything else. */
final class NcclBackend implements Backend {
    private final Backend host;
    private final String description;
    private final List<RankGpu> gpus;
    /** The data planes on GPUs; null, like {@code onGpus}, if no GPU can be reached. */
    private final GpuPlanes planes;

    private final DeviceCollectives onGpus;

    private NcclBackend(Backend host, String description, List<RankGpu> gpus, GpuPlanes planes) {
        this.host = host;
        this.description = description;
        this.gpus = gpus;
        this.planes = planes;
        List<Integer> all = IntStream.range(0, host.topology().size()).boxed().toList();
        this.onGpus = planes == null ? null : planes.over(host.collectives(), all);
    }

    /**
     * A back end with NCCL; all ranks call this together, each with its own GPUs.
     *
     * @param processes which ranks are threads of one process
     */
    static NcclBackend joined(
            Backend host, NcclCalls nccl, List<RankGpu> gpus, GpuSettings settings, RankProcesses processes) {
        GpuPlanes planes = new GpuPlanes(host, gpus, nccl, settings, Set.of(), processes);
        String description = "nccl " + nccl.version() + planes.wayAcrossNodes() + " over " + host.description();
        return new NcclBackend(host, description, gpus, planes);
    }

    /**
     * A back end for GPUs without NCCL; tensors on GPUs go through the host.
     *
     * @param gpus the GPUs of this rank; empty if it has none
     * @param withoutGpu all ranks that have no GPU
     */
    static NcclBackend throughHost(
            Backend host, List<RankGpu> gpus, GpuSettings settings, Set<Integer> withoutGpu, String why) {
        String description = host.description() + ", GPU tensors through the host without NCCL (" + why + ")";
        GpuPlanes planes = gpus.isEmpty() ? null : new GpuPlanes(host, gpus, null, settings, withoutGpu, null);
        return new NcclBackend(host, description, gpus, planes);
    }

    /** A back end for GPUs whose memory cannot be reached; it refuses tensors on GPUs and says why. */
    static NcclBackend withoutGpus(Backend host, String why) {
        String description = host.description() + ", no tensors on GPUs (" + why + ")";
        return new NcclBackend(host, description, List.of(), null);
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
    public DataPlane collectives() {
        return planes == null ? host.collectives() : onGpus;
    }

    @Override
    public DataPlane collectives(List<Integer> members) {
        DataPlane ofHost = host.collectives(members);
        return planes == null ? ofHost : planes.over(ofHost, members);
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
    public Transfers transfers() {
        return host.transfers();
    }

    @Override
    public ReduceKernel kernel() {
        return host.kernel();
    }

    @Override
    public void programWaits(BooleanSupplier waits) {
        host.programWaits(waits);
    }

    @Override
    public Progress progress() {
        return host.progress();
    }

    @Override
    public void abort(int exitCode, String reason) {
        host.abort(exitCode, reason);
    }

    @Override
    public void close() {
        if (planes != null) {
            onGpus.leaveGpus();
            gpus.forEach(RankGpu::close);
        }
        host.close();
    }
}
