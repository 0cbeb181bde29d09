package io.hvd.backend.hybrid;

import io.hvd.backend.local.LocalCollectives;
import io.hvd.backend.local.LocalHub;
import io.hvd.spi.Backend;
import io.hvd.spi.Collectives;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Progress;
import io.hvd.spi.Topology;
import java.util.List;
import java.util.stream.IntStream;

/** A rank that is one thread of one of several JVMs. */
final class HybridBackend implements Backend {
    private final Bridge bridge;
    private final LocalHub hub;
    private final int thread;
    private final Together together;
    private final Topology topology;
    private final ControlChannel control;
    private final DataPlane collectives;
    private int opened;

    HybridBackend(Bridge bridge, LocalHub hub, int thread, Together together) {
        this.bridge = bridge;
        this.hub = hub;
        this.thread = thread;
        this.together = together;
        this.topology = bridge.grid().topology(thread, bridge.processes().topology());
        this.control = bridge.control().end(thread);
        this.collectives = collectivesOfAll();
    }

    private DataPlane collectivesOfAll() {
        Grid grid = bridge.grid();
        if (grid.processes() == 1) {
            return new LocalCollectives(hub, thread);
        }
        List<Integer> all = IntStream.range(0, grid.size()).boxed().toList();
        RowLayout layout = RowLayout.of(all, grid);
        CarriedCollectives across = new CarriedCollectives(bridge.processes().collectives(), bridge.carrier());
        return new HybridCollectives(layout, thread, hub, across, across, new Pairs(bridge, thread));
    }

    @Override
    public String description() {
        Grid grid = bridge.grid();
        return "hybrid: " + grid.processes() + (grid.processes() == 1 ? " process x " : " processes x ")
                + grid.threads() + (grid.threads() == 1 ? " thread" : " threads") + " over "
                + bridge.processes().description();
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
        Router router = together.run(thread == 0, () -> bridge.openRouter(hub.furtherMailboxes(number)));
        return router.end(thread);
    }

    @Override
    public DataPlane collectives() {
        return collectives;
    }

    /** Does not need the other processes, so that sets may be made and closed in any order. */
    @Override
    public DataPlane collectives(List<Integer> members) {
        RowLayout layout = RowLayout.of(members, bridge.grid());
        List<Integer> threads =
                layout.here().stream().map(bridge.grid()::threadOf).toList();
        LocalHub theirs = hub.set(threads);
        int place = threads.indexOf(thread);
        if (layout.rows().size() == 1) {
            return new LocalCollectives(theirs, place);
        }
        Pairs pairs = new Pairs(bridge, thread);
        Collectives across =
                place > 0 ? null : new PairwiseCollectives(pairs, layout.leaders(), layout.row(), theirs.stageBytes());
        return new HybridCollectives(layout, place, theirs, across, null, pairs);
    }

    @Override
    public List<byte[]> exchange(byte[] mine) {
        hub.exchanged().set(thread, mine);
        return together.run(thread == 0, () -> bridge.exchange(hub.exchanged()));
    }

    /** Returns that no call is due: the carrier moves messages on. */
    @Override
    public Progress progress() {
        return Progress.NONE;
    }

    @Override
    public void abort(int exitCode, String reason) {
        bridge.processes().abort(exitCode, reason);
    }

    @Override
    public void close() {
        together.run(thread == 0, () -> {
            bridge.close();
            return null;
        });
    }
}
