package io.hvd.host.shm;

import io.hvd.host.memory.Backoff;
import io.hvd.host.memory.Groups;
import io.hvd.host.memory.MemoryCollectives;
import io.hvd.host.memory.OneLevelCollectives;
import io.hvd.host.memory.OuterLevel;
import io.hvd.host.memory.Rounds;
import io.hvd.host.memory.TwoLevelCollectives;
import io.hvd.kernel.ReduceKernel;
import io.hvd.kernel.Reducer;
import io.hvd.spi.Abandonment;
import io.hvd.spi.DataPlane;
import io.hvd.spi.DataPlanes;
import io.hvd.spi.NodeGroups;
import io.hvd.spi.Progress;
import io.hvd.spi.Topology;
import io.hvd.tensor.Tensor;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Makes the data planes of process sets. They have a segment on every host if any host has more than one member. Where
 * all hosts have the same number of members, each of them carries its part of its host's data to the other hosts;
 * otherwise the first member of each host carries all of it. Only the communication thread uses it.
 */
public final class SharedPlanes implements DataPlanes {
    private static final Path FOLDER = Path.of("/dev/shm");
    /**
     * The number of bytes of all ranks from which on broadcast, allgather and reduce-scatter take half the time in two
     * levels: measured with 2 hosts of 2 ranks each, 1 Gbit/s, and Open MPI's default settings beneath. Fewer bytes
     * were not compared.
     */
    private static final long WORTH_BYTES = 64 << 10;

    private final DataPlanes beneath;
    private final Topology topology;
    private final ReduceKernel kernel;
    private final Path folder;
    private final Backoff backoff;
    private final Abandonment abandonment = new Abandonment();
    private final DataPlane all;
    private String note = "";

    /**
     * All ranks come here together.
     *
     * @param beneath data planes of the same ranks without shared memory
     * @param exchange gives every rank the bytes of all, within the limit of the start
     * @param kernel adds elements faster than Java does, or is {@link ReduceKernel#NONE}
     */
    public SharedPlanes(
            DataPlanes beneath, Topology topology, Function<byte[], List<byte[]>> exchange, ReduceKernel kernel) {
        this(beneath, topology, exchange, kernel, FOLDER);
    }

    /** @param folder a folder in memory */
    SharedPlanes(
            DataPlanes beneath,
            Topology topology,
            Function<byte[], List<byte[]>> exchange,
            ReduceKernel kernel,
            Path folder) {
        this.beneath = beneath;
        this.topology = topology;
        this.kernel = kernel;
        this.folder = folder;
        this.backoff = new Backoff(topology.localSize(), beneath.progress()::make);
        this.all = over(
                beneath.ofAll(), IntStream.range(0, topology.size()).boxed().toList(), exchange);
    }

    @Override
    public DataPlane ofAll() {
        return all;
    }

    @Override
    public DataPlane of(List<Integer> members) {
        DataPlane ofMembers = beneath.of(members);
        return over(ofMembers, members, mine -> allgathered(ofMembers, mine, members.size()));
    }

    @Override
    public void programWaits(BooleanSupplier waits) {
        backoff.programWaits(waits);
        beneath.programWaits(waits);
    }

    @Override
    public Progress progress() {
        return beneath.progress();
    }

    /** Every rank finds out for itself, since none of them looks whether another one has given up. */
    @Override
    public void abandon(String why) {
        abandonment.abandon(why);
        beneath.abandon(why);
    }

    @Override
    public void leave() {
        if (all instanceof MemoryCollectives shared) {
            shared.leave();
        }
        beneath.leave();
    }

    @Override
    public void close() {
        beneath.close();
    }

    /** Words about the set of all ranks, which end in "over " or a comma, for the log line that tells the choice. */
    public String note() {
        return note;
    }

    /**
     * Makes a set's data plane; all members call it together.
     *
     * @param ofMembers their data plane without shared memory
     * @param exchange gives every member as many bytes of each
     */
    private DataPlane over(DataPlane ofMembers, List<Integer> members, Function<byte[], List<byte[]>> exchange) {
        List<List<Integer>> hosts = NodeGroups.grid(members, topology.nodes());
        if (hosts.size() == members.size()) {
            return ofMembers;
        }
        boolean oneHost = hosts.size() == 1;
        List<Integer> inside = hosts.stream()
                .filter(row -> row.contains(topology.rank()))
                .findFirst()
                .orElseThrow();
        int stage = SegmentSize.stageBytes(members.size(), hosts.size());
        SegmentSetup.Result result = new SegmentSetup(folder, exchange, members, inside, topology, abandonment)
                .found(stage, SegmentSize.LEAST_STAGE_BYTES);
        if (note.isEmpty()) {
            note = words(result, oneHost);
        }
        return result.share()
                .map(share ->
                        over(ofMembers, members, hosts, inside, new Rounds(share.segment(), share.group(), backoff)))
                .orElse(ofMembers);
    }

    private static List<byte[]> allgathered(DataPlane plane, byte[] mine, int size) {
        Tensor all = Tensor.ofBytes(new byte[mine.length * size]);
        long[] lengths = new long[size];
        Arrays.fill(lengths, mine.length);
        plane.allgather(Tensor.ofBytes(mine), all, lengths);
        byte[] bytes = (byte[]) all.toArray();
        return IntStream.range(0, size)
                .mapToObj(i -> Arrays.copyOfRange(bytes, i * mine.length, (i + 1) * mine.length))
                .toList();
    }

    /**
     * @param hosts the members on each host
     * @param inside those of this host
     */
    private DataPlane over(
            DataPlane ofMembers,
            List<Integer> members,
            List<List<Integer>> hosts,
            List<Integer> inside,
            Rounds rounds) {
        Reducer reducer = Reducer.ofPlaces(kernel);
        if (hosts.size() == 1) {
            return new OneLevelCollectives(
                    rounds, reducer, ofMembers, members.size() == topology.size(), beneath.progress());
        }
        int place = inside.indexOf(topology.rank());
        boolean allCarry = hosts.stream().map(List::size).distinct().count() == 1;
        int carrier = allCarry ? place : 0;
        List<Integer> carriers = hosts.stream().map(row -> row.get(carrier)).toList();
        List<List<Integer>> numbers = hosts.stream()
                .map(row -> row.stream().map(members::indexOf).toList())
                .toList();
        return new TwoLevelCollectives(
                rounds,
                reducer,
                TwoLevelCollectives.Flat.of(ofMembers),
                place == carrier ? OuterLevel.of(beneath.of(carriers)) : null,
                new Groups(numbers, hosts.indexOf(inside), allCarry),
                new TwoLevelCollectives.Limits(WORTH_BYTES, true, ""));
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
