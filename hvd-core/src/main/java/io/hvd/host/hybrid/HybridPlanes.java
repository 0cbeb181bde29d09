package io.hvd.host.hybrid;

import io.hvd.collective.AllreduceChoice;
import io.hvd.collective.NetworkWait;
import io.hvd.collective.TransportCollectives;
import io.hvd.config.MpiSettings.AllreduceAlgorithm;
import io.hvd.host.local.LocalHub;
import io.hvd.host.local.ThreadPairs;
import io.hvd.host.memory.Backoff;
import io.hvd.host.memory.Groups;
import io.hvd.host.memory.OneLevelCollectives;
import io.hvd.host.memory.OuterLevel;
import io.hvd.host.memory.Rounds;
import io.hvd.host.memory.TwoLevelCollectives;
import io.hvd.kernel.ReduceKernel;
import io.hvd.kernel.Reducer;
import io.hvd.spi.ByteCollectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.DataPlanes;
import io.hvd.spi.NodeGroups;
import io.hvd.spi.Progress;
import io.hvd.spi.Topology;
import io.hvd.spi.Transfers;
import io.hvd.spi.Transport;
import io.hvd.tensor.Device;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;

/** Data planes of a rank that is one thread of one of several JVMs. */
final class HybridPlanes implements DataPlanes {
    private static final int LEADER = 0;
    private static final String ALWAYS_TWO_LEVELS = "threads of one process always add among themselves first";

    private final InterProcess interProcess;
    private final LocalHub hub;
    private final int thread;
    private final Topology topology;
    private final Backoff backoff;
    private final NetworkWait wait;
    private final DataPlane all;

    HybridPlanes(InterProcess interProcess, LocalHub hub, int thread, Topology topology) {
        this.interProcess = interProcess;
        this.hub = hub;
        this.thread = thread;
        this.topology = topology;
        this.backoff = Backoff.ofThreads(hub.size(), topology.localSize() / hub.size());
        this.wait = NetworkWait.of(topology.localSize());
        this.all = planeOfAll();
    }

    private DataPlane planeOfAll() {
        List<Integer> ranks = IntStream.range(0, topology.size()).boxed().toList();
        DataPlane processes = interProcess.planes().ofAll();
        OuterLevel processLevel = new ProcessLevel(processes, interProcess.backendThread());
        return new Members(ranks, hub).over(processLevel, processes.takesVetoes(Device.CPU));
    }

    @Override
    public DataPlane ofAll() {
        return all;
    }

    /** Does not need the other processes, so that sets may be made and closed in any order. */
    @Override
    public DataPlane of(List<Integer> members) {
        Grid grid = interProcess.grid();
        List<Integer> threads =
                members.stream().filter(grid::isHere).map(grid::threadOf).toList();
        Members set = new Members(members, hub.set(threads));
        return set.over(OuterLevel.withoutVetoes(set.transfers(set.leaders())), false);
    }

    /** The members of a process set, and the hub of those that are threads of this process. */
    private final class Members {
        private final List<Integer> ranks;
        private final LocalHub here;
        private final List<List<Integer>> byProcess;
        private final int process;
        private final int place;

        Members(List<Integer> ranks, LocalHub here) {
            Grid grid = interProcess.grid();
            List<Integer> processes =
                    IntStream.range(0, grid.size()).map(grid::processOf).boxed().toList();
            this.ranks = ranks;
            this.here = here;
            this.byProcess = NodeGroups.grid(ranks, processes);
            this.process = IntStream.range(0, byProcess.size())
                    .filter(i -> byProcess.get(i).contains(topology.rank()))
                    .findFirst()
                    .orElseThrow();
            this.place = byProcess.get(process).indexOf(topology.rank());
        }

        /** The first member of each process, which carries what its process has for the others. */
        List<Integer> leaders() {
            return byProcess.stream().map(row -> row.get(LEADER)).toList();
        }

        /** @param some those of the members who use the result */
        TransportCollectives transfers(List<Integer> some) {
            return new TransportCollectives(
                    new ThreadGroup(new ThreadTransfers(interProcess, some, thread)),
                    some.indexOf(topology.rank()),
                    some.size(),
                    wait,
                    here.stageBytes(),
                    new AllreduceChoice(AllreduceAlgorithm.MPI, 1),
                    ReduceKernel.OFFERED);
        }

        /** @param outer what the leaders use */
        DataPlane over(OuterLevel outer, boolean takesVetoes) {
            Rounds rounds = new Rounds(here.memory(place), here.group(), backoff);
            Reducer reducer = Reducer.ofPlaces(ReduceKernel.OFFERED);
            if (byProcess.size() == 1) {
                boolean ofAll = ranks.size() == topology.size();
                return new OneLevelCollectives(rounds, reducer, new ThreadPairs(here, place), ofAll, Progress.NONE);
            }
            List<List<Integer>> numbers = byProcess.stream()
                    .map(row -> row.stream().map(ranks::indexOf).toList())
                    .toList();
            TransportCollectives flat = transfers(ranks);
            return new TwoLevelCollectives(
                    rounds,
                    reducer,
                    new TwoLevelCollectives.Flat(
                            flat, new HybridPairs(interProcess.grid(), ranks, new ThreadPairs(hub, thread), flat)),
                    place == LEADER ? outer : null,
                    new Groups(numbers, process, false),
                    new TwoLevelCollectives.Limits(0, takesVetoes, ALWAYS_TWO_LEVELS));
        }
    }

    /** Ranks whose only way to each other are transfers between threads. */
    private record ThreadGroup(Transfers transfers) implements Transport.Group {
        @Override
        public Optional<ByteCollectives> collectives() {
            return Optional.empty();
        }

        @Override
        public void close() {
            // The transfers belong to the process.
        }
    }

    @Override
    public void programWaits(BooleanSupplier waits) {
        backoff.programWaits(waits);
    }

    /** Returns that no call is due: the back end's thread moves messages on. */
    @Override
    public Progress progress() {
        return Progress.NONE;
    }

    @Override
    public void abandon(String why) {
        interProcess.planes().abandon(why);
        interProcess.backendThread().giveUp(why);
    }

    @Override
    public void leave() {
        // The control plane is closed by one thread of each process, with everything else.
    }

    @Override
    public void close() {
        // Closed already, together with the control plane.
    }
}
