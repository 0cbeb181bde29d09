package io.hvd.host.hybrid;

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
import io.hvd.spi.Backend;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.DataPlane;
import io.hvd.spi.NodeGroups;
import io.hvd.spi.Progress;
import io.hvd.spi.Topology;
import io.hvd.spi.Transfers;
import io.hvd.tensor.Device;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;

/** A rank that is one thread of one of several JVMs. */
final class HybridBackend implements Backend {
    private static final int LEADER = 0;

    private final InterProcess interProcess;
    private final LocalHub hub;
    private final int thread;
    private final OncePerProcess oncePerProcess;
    private final Topology topology;
    private final ControlChannel control;
    private final Backoff backoff;
    private final DataPlane collectives;
    private int opened;

    HybridBackend(InterProcess interProcess, LocalHub hub, int thread, OncePerProcess oncePerProcess) {
        this.interProcess = interProcess;
        this.hub = hub;
        this.thread = thread;
        this.oncePerProcess = oncePerProcess;
        this.topology =
                interProcess.grid().topology(thread, interProcess.processes().topology());
        this.control = interProcess.control().end(thread);
        this.backoff = Backoff.ofThreads(hub.size(), topology.localSize() / hub.size());
        this.collectives = collectivesOfAll();
    }

    private DataPlane collectivesOfAll() {
        List<Integer> all = IntStream.range(0, topology.size()).boxed().toList();
        DataPlane processes = interProcess.processes().collectives();
        OuterLevel processLevel = new ProcessLevel(processes, interProcess.backendThread());
        return new Members(all, hub).over(processLevel, processes.takesVetoes(Device.CPU));
    }

    @Override
    public String description() {
        Grid grid = interProcess.grid();
        return "hybrid: " + grid.processes() + (grid.processes() == 1 ? " process x " : " processes x ")
                + grid.threads() + (grid.threads() == 1 ? " thread" : " threads") + " over "
                + interProcess.processes().description();
    }

    @Override
    public Topology topology() {
        return topology;
    }

    @Override
    public ControlChannel control() {
        return control;
    }

    @Override
    public ControlChannel openChannel() {
        int number = opened++;
        Router router = oncePerProcess.run(thread == 0, () -> interProcess.openRouter(hub.furtherMailboxes(number)));
        return router.end(thread);
    }

    @Override
    public DataPlane collectives() {
        return collectives;
    }

    /** Does not need the other processes, so that sets may be made and closed in any order. */
    @Override
    public DataPlane collectives(List<Integer> members) {
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
            int self = grid.rank(thread);
            this.ranks = ranks;
            this.here = here;
            this.byProcess = NodeGroups.grid(ranks, processes);
            this.process = IntStream.range(0, byProcess.size())
                    .filter(i -> byProcess.get(i).contains(self))
                    .findFirst()
                    .orElseThrow();
            this.place = byProcess.get(process).indexOf(self);
        }

        /** The first member of each process, which carries what its process has for the others. */
        List<Integer> leaders() {
            return byProcess.stream().map(row -> row.get(LEADER)).toList();
        }

        /** @param some those of the members who use the result */
        TransferCollectives transfers(List<Integer> some) {
            ProcessPairs pairs = new ProcessPairs(interProcess, thread);
            int self = some.indexOf(interProcess.grid().rank(thread));
            return new TransferCollectives(pairs, new ThreadPairs(hub, thread), some, self, here.stageBytes());
        }

        /** @param outer what the leaders use */
        DataPlane over(OuterLevel outer, boolean takesVetoes) {
            Rounds rounds = new Rounds(here.memory(place), here.group(), backoff);
            Reducer reducer = Reducer.ofPlaces(ReduceKernel.NONE);
            if (byProcess.size() == 1) {
                boolean ofAll = ranks.size() == topology.size();
                return new OneLevelCollectives(rounds, reducer, new ThreadPairs(here, place), ofAll, Progress.NONE);
            }
            List<List<Integer>> numbers = byProcess.stream()
                    .map(row -> row.stream().map(ranks::indexOf).toList())
                    .toList();
            return new TwoLevelCollectives(
                    rounds,
                    reducer,
                    transfers(ranks),
                    place == LEADER ? outer : null,
                    new Groups(numbers, process, false),
                    new TwoLevelCollectives.Limits(0, takesVetoes));
        }
    }

    @Override
    public List<byte[]> exchange(byte[] mine) {
        hub.exchanged().set(thread, mine);
        return oncePerProcess.run(thread == 0, () -> interProcess.exchange(hub.exchanged()));
    }

    @Override
    public Transfers transfers() {
        throw new UnsupportedOperationException(
                "ranks that are threads send by way of the thread that owns the back end");
    }

    @Override
    public ReduceKernel kernel() {
        return ReduceKernel.NONE;
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
    public void abort(int exitCode, String reason) {
        interProcess.processes().abort(exitCode, reason);
    }

    @Override
    public void close() {
        oncePerProcess.run(thread == 0, () -> {
            interProcess.close();
            return null;
        });
    }
}
