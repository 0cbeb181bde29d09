package io.hvd.backend.shm;

import io.hvd.spi.Backend;
import io.hvd.spi.DataPlane;
import io.hvd.spi.NodeGroups;
import io.hvd.spi.Topology;
import io.hvd.tensor.Reducer;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;

/**
 * Makes the data planes of process sets. They have a segment on every host if all hosts have the same number of
 * members, and more than one. Only the communication thread uses it.
 */
final class SharedPlanes {
    private final Backend beneath;
    private final Topology topology;
    private final Path folder;
    private final Patience patience;
    private String note = "";

    /** @param folder a folder in memory */
    SharedPlanes(Backend beneath, Path folder) {
        this.beneath = beneath;
        this.topology = beneath.topology();
        this.folder = folder;
        this.patience = new Patience(topology.localSize(), beneath.progress()::make);
    }

    /** @param waits whether the program's own thread computes nothing at the moment */
    void programWaits(BooleanSupplier waits) {
        patience.programWaits(waits);
    }

    List<Integer> everybody() {
        return IntStream.range(0, topology.size()).boxed().toList();
    }

    /** Text about the set of all ranks, which is made first, for the log line that tells the choice. */
    String note() {
        return note;
    }

    /**
     * Makes a set's data plane; all members call it together.
     *
     * @param ofMembers their data plane without shared memory
     */
    DataPlane over(DataPlane ofMembers, List<Integer> members) {
        NodeGroups groups = NodeGroups.of(topology.rank(), members, topology.nodes());
        boolean oneHost = groups.inside().size() == members.size();
        if (members.size() == 1 || (!oneHost && obstacle(members))) {
            return ofMembers;
        }
        int stage = SegmentSize.stageBytes(groups.inside().size(), oneHost);
        SegmentSetup.Result result = new SegmentSetup(folder, ofMembers, members, groups.inside(), topology)
                .found(stage, SegmentSize.LEAST_STAGE_BYTES);
        if (note.isEmpty()) {
            note = words(result, oneHost);
        }
        return result.share()
                .map(share -> over(ofMembers, members, groups, new Rounds(share.segment(), share.group(), patience)))
                .orElse(ofMembers);
    }

    private DataPlane over(DataPlane ofMembers, List<Integer> members, NodeGroups groups, Rounds rounds) {
        Reducer reducer = new Reducer(beneath.kernel());
        if (groups.inside().size() == members.size()) {
            return new OneHostCollectives(
                    rounds, reducer, ofMembers, members.size() == topology.size(), beneath.progress());
        }
        List<List<Integer>> hosts = NodeGroups.grid(members, topology.nodes()).stream()
                .map(row -> row.stream().map(members::indexOf).toList())
                .toList();
        int host = groups.across().indexOf(topology.rank());
        return new CrossingCollectives(
                rounds, reducer, ofMembers, new Crossing(beneath.collectives(groups.across())), hosts, host);
    }

    private boolean obstacle(List<Integer> members) {
        return NodeGroups.obstacle(members, topology.nodes()).isPresent();
    }

    private static String words(SegmentSetup.Result result, boolean oneHost) {
        return result.share()
                .map(share -> "shared memory " + (oneHost ? "" : "in each host ") + "("
                        + share.segment().stageBytes() / 1024 + " KiB per rank"
                        + (result.note().isEmpty() ? "" : ", as more could not be had: " + result.note())
                        + ") over ")
                .orElse("no shared memory (" + result.note() + "), ");
    }
}
