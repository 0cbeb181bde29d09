package io.hvd.backend.nccl;

import io.hvd.config.GpuSettings;
import io.hvd.config.GpuSettings.AcrossNodes;
import io.hvd.spi.Backend;
import io.hvd.spi.Collectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.NodeGroups;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;

/** Makes the data planes of process sets: what goes between GPUs over what goes between hosts. Communication thread. */
final class GpuPlanes {
    private static final int UNIQUE_ID_BYTES = 128;

    private final Backend host;
    private final List<RankGpu> gpus;
    /** Null without NCCL. */
    private final NcclCalls nccl;

    private final GpuSettings settings;
    private final Set<Integer> withoutGpu;

    /**
     * @param gpus of this rank, at least one, and as many as of every other rank that has some
     * @param withoutGpu the ranks that have none
     */
    GpuPlanes(Backend host, List<RankGpu> gpus, NcclCalls nccl, GpuSettings settings, Set<Integer> withoutGpu) {
        this.withoutGpu = withoutGpu;
        this.host = host;
        this.gpus = gpus;
        this.nccl = nccl;
        this.settings = settings;
    }

    /** How allreduces of all ranks get from node to node, where something else than NCCL alone was asked for. */
    String wayAcrossNodes() {
        if (settings.across() == AcrossNodes.FLAT) {
            return "";
        }
        List<Integer> all = IntStream.range(0, host.topology().size()).boxed().toList();
        return obstacle(all)
                .map(why -> ", no hierarchical allreduce (" + why + ")")
                .orElse(
                        settings.across() == AcrossNodes.BY_NCCL
                                ? ", allreduce in the node and across nodes"
                                : ", allreduce in the node and through the host across nodes");
    }

    /**
     * Every member comes here at the same place in the order of operations.
     *
     * @param ofHost the members' data plane between hosts
     */
    DeviceCollectives over(DataPlane ofHost, List<Integer> members) {
        List<DeviceCollectives.Lane> lanes = new ArrayList<>();
        if (members.stream().anyMatch(withoutGpu::contains)) {
            // Tensors on GPUs are refused then, on the ranks that have one as on those that have none.
            return new DeviceCollectives(ofHost, lanes);
        }
        for (RankGpu gpu : gpus) {
            lanes.add(lane(gpu, ofHost, members));
        }
        return new DeviceCollectives(ofHost, lanes);
    }

    private DeviceCollectives.Lane lane(RankGpu gpu, Collectives ofHost, List<Integer> members) {
        StagedCollectives staged = new StagedCollectives(gpu, ofHost);
        if (nccl == null) {
            return DeviceCollectives.Lane.throughHost(gpu, staged);
        }
        gpu.enter();
        nccl.selectDevice(gpu.device().index());
        NcclCommunicator everybody = join(gpu, ofHost, members, members);
        HierarchicalAllreduce hierarchy = hierarchy(gpu, ofHost, members);
        return DeviceCollectives.Lane.byNccl(
                gpu, new NcclCollectives(gpu, everybody, hierarchy, settings.asyncCompletion()), staged);
    }

    /** Null where allreduces go over all members at once. */
    private HierarchicalAllreduce hierarchy(RankGpu gpu, Collectives ofHost, List<Integer> members) {
        if (settings.across() == AcrossNodes.FLAT || obstacle(members).isPresent()) {
            return null;
        }
        NodeGroups groups = groups(members);
        NcclCommunicator inside = join(gpu, ofHost, members, groups.inside());
        NodeCrossing crossing = settings.across() == AcrossNodes.BY_NCCL
                ? new NodeCrossing.ByNccl(join(gpu, ofHost, members, groups.across()))
                : new NodeCrossing.ThroughHost(gpu, host.collectives(groups.across()), inside, host.progress()::make);
        return new HierarchicalAllreduce(gpu, inside, crossing);
    }

    /** Why these members' allreduces go over all of them at once; the same on every rank. */
    private Optional<String> obstacle(List<Integer> members) {
        Optional<String> obstacle = NodeGroups.obstacle(members, host.topology().nodes());
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
        return NodeGroups.of(host.topology().rank(), members, host.topology().nodes());
    }

    /** Each member joins the communicator of its own group, to which the group's first rank gives the id. */
    private NcclCommunicator join(RankGpu gpu, Collectives ofHost, List<Integer> members, List<Integer> group) {
        int rank = host.topology().rank();
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
