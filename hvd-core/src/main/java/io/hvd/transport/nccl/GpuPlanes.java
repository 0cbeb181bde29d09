package io.hvd.transport.nccl;

import io.hvd.config.GpuSettings;
import io.hvd.config.GpuSettings.AcrossNodes;
import io.hvd.spi.Backend;
import io.hvd.spi.Collectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.DataPlanes;
import io.hvd.spi.NodeGroups;
import io.hvd.spi.PointToPoint;
import io.hvd.spi.Progress;
import io.hvd.spi.Topology;
import io.hvd.tensor.Tensor;
import io.hvd.transport.nccl.natives.NcclCalls;
import io.hvd.transport.nccl.natives.NcclCommunicator;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Data planes with collectives between GPUs, on top of others that carry the tensors of the host. */
final class GpuPlanes implements DataPlanes {
    private static final int UNIQUE_ID_BYTES = 128;

    private final DataPlanes host;
    private final Topology topology;
    private final List<RankGpu> gpus;
    /** Null without NCCL. */
    private final NcclCalls nccl;

    private final GpuSettings settings;
    private final Set<Integer> withoutGpu;
    /** Null without NCCL. */
    private final RankProcesses processes;

    private final DeviceCollectives all;

    /**
     * All ranks that have GPUs come here together.
     *
     * @param gpus the GPUs of this rank, at least one; all ranks that have GPUs have the same number
     * @param withoutGpu the ranks that have no GPU
     * @param processes says, with NCCL, which ranks are threads of one process
     */
    GpuPlanes(
            Backend host,
            List<RankGpu> gpus,
            NcclCalls nccl,
            GpuSettings settings,
            Set<Integer> withoutGpu,
            RankProcesses processes) {
        this.withoutGpu = withoutGpu;
        this.processes = processes;
        this.host = host.planes();
        this.topology = host.topology();
        this.gpus = gpus;
        this.nccl = nccl;
        this.settings = settings;
        this.all = over(this.host.ofAll(), everybody());
    }

    private List<Integer> everybody() {
        return IntStream.range(0, topology.size()).boxed().toList();
    }

    @Override
    public DataPlane ofAll() {
        return all;
    }

    @Override
    public DataPlane of(List<Integer> members) {
        return over(host.of(members), members);
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
    public void abandon(String why) {
        host.abandon(why);
    }

    @Override
    public void leave() {
        all.leaveGpus();
        gpus.forEach(RankGpu::close);
        host.leave();
    }

    @Override
    public void close() {
        host.close();
    }

    /** Words that say how allreduces of all ranks cross nodes; empty unless the settings ask for a hierarchical one. */
    String wayAcrossNodes() {
        if (settings.across() == AcrossNodes.FLAT) {
            return "";
        }
        return obstacle(everybody())
                .map(why -> ", no hierarchical allreduce (" + why + ")")
                .orElse(
                        settings.across() == AcrossNodes.BY_NCCL
                                ? ", allreduce in the node and across nodes"
                                : ", allreduce in the node and through the host across nodes");
    }

    /**
     * The data plane of a process set. All members call this together, at the same place in the order of operations.
     *
     * @param ofHost the members' data plane between hosts
     */
    private DeviceCollectives over(DataPlane ofHost, List<Integer> members) {
        List<DeviceCollectives.PerGpu> perGpu = new ArrayList<>();
        if (members.stream().anyMatch(withoutGpu::contains)) {
            // Tensors on GPUs are then refused on all members, whether they have a GPU or not.
            return new DeviceCollectives(ofHost, perGpu);
        }
        for (RankGpu gpu : gpus) {
            perGpu.add(collectives(gpu, ofHost, members));
        }
        return new DeviceCollectives(ofHost, perGpu);
    }

    private DeviceCollectives.PerGpu collectives(RankGpu gpu, Collectives ofHost, List<Integer> members) {
        StagedCollectives staged = new StagedCollectives(gpu, ofHost);
        if (nccl == null) {
            return DeviceCollectives.PerGpu.throughHost(gpu, staged);
        }
        gpu.enter();
        nccl.selectDevice(gpu.device().index());
        NcclCommunicator everybody = join(gpu, ofHost, members, members);
        HierarchicalAllreduce hierarchy = hierarchy(gpu, ofHost, members);
        LaunchMeeting meeting = meeting(gpu, ofHost, members);
        return DeviceCollectives.PerGpu.byNccl(
                gpu, new NcclCollectives(gpu, everybody, hierarchy, meeting, settings.asyncCompletion()), staged);
    }

    /** The meeting of the members before a launch; its data plane is apart from that of the members' tensors. */
    private LaunchMeeting meeting(RankGpu gpu, PointToPoint ofHost, List<Integer> members) {
        if (members.stream().noneMatch(processes::isShared)) {
            return LaunchMeeting.NOBODY;
        }
        int rank = topology.rank();
        List<Integer> meeting = processes.meeting(rank, members);
        Set<Integer> peers = members.stream()
                .filter(peer -> peer != rank && (processes.isShared(rank) || processes.isShared(peer)))
                .map(members::indexOf)
                .collect(Collectors.toSet());
        return new LaunchMeeting.OfThreads(
                gpu, meeting.isEmpty() ? null : host.of(meeting), ofHost, peers, members.size());
    }

    /** The allreduce in two levels; null if allreduces use one communicator of all members. */
    private HierarchicalAllreduce hierarchy(RankGpu gpu, Collectives ofHost, List<Integer> members) {
        if (settings.across() == AcrossNodes.FLAT || obstacle(members).isPresent()) {
            return null;
        }
        NodeGroups groups = groups(members);
        NcclCommunicator inside = join(gpu, ofHost, members, groups.inside());
        InterNodeAllreduce betweenNodes = settings.across() == AcrossNodes.BY_NCCL
                ? new InterNodeAllreduce.ByNccl(join(gpu, ofHost, members, groups.across()))
                : new InterNodeAllreduce.ThroughHost(gpu, host.of(groups.across()), inside, host.progress()::make);
        return new HierarchicalAllreduce(gpu, inside, betweenNodes);
    }

    /** The reason why these members' allreduces cannot use two levels, if there is one; the same on every rank. */
    private Optional<String> obstacle(List<Integer> members) {
        Optional<String> obstacle = NodeGroups.obstacle(members, topology.nodes());
        if (obstacle.isPresent()) {
            return obstacle;
        }
        int inside = groups(members).inside().size();
        RankGpu gpu = gpus.get(0);
        return HierarchicalAllreduce.fits(gpu, inside)
                ? Optional.empty()
                : Optional.of("HVD_GPU_STAGE_BYTES=" + gpu.stageBytes() + " is too little for " + inside
                        + " ranks of a node");
    }

    private NodeGroups groups(List<Integer> members) {
        return NodeGroups.of(topology.rank(), members, topology.nodes());
    }

    /** Joins the communicator of this rank's group, whose id comes from the group's first rank. All members call it. */
    private NcclCommunicator join(RankGpu gpu, Collectives ofHost, List<Integer> members, List<Integer> group) {
        int rank = topology.rank();
        byte[] mine = group.get(0) == rank ? nccl.uniqueId() : new byte[UNIQUE_ID_BYTES];
        Tensor all = Tensor.ofBytes(new byte[UNIQUE_ID_BYTES * members.size()]);
        long[] lengths = new long[members.size()];
        Arrays.fill(lengths, UNIQUE_ID_BYTES);
        ofHost.allgather(Tensor.ofBytes(mine), all, lengths);
        int from = members.indexOf(group.get(0)) * UNIQUE_ID_BYTES;
        byte[] id = Arrays.copyOfRange((byte[]) all.toArray(), from, from + UNIQUE_ID_BYTES);
        return new NcclCommunicator(nccl, id, group.size(), group.indexOf(rank), gpu.stream());
    }
}
