package io.hvd.host.local;

import io.hvd.host.memory.Backoff;
import io.hvd.host.memory.OneLevelCollectives;
import io.hvd.host.memory.Rounds;
import io.hvd.kernel.ReduceKernel;
import io.hvd.kernel.Reducer;
import io.hvd.spi.Backend;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Progress;
import io.hvd.spi.Topology;
import io.hvd.spi.Transfers;
import java.util.Collections;
import java.util.List;
import java.util.function.BooleanSupplier;

/** A rank that is a thread of this JVM. */
final class LocalBackend implements Backend {
    private final LocalHub hub;
    private final int rank;
    private final Topology topology;
    private final ControlChannel control;
    private final Backoff backoff;
    private final DataPlane collectives;
    private int opened;

    LocalBackend(LocalHub hub, int rank, String host) {
        this.hub = hub;
        this.rank = rank;
        this.topology =
                Topology.of(rank, Collections.nCopies(hub.size(), "this JVM"), Collections.nCopies(hub.size(), host));
        this.control = new LocalChannel(hub.mailboxes(), rank);
        this.backoff = Backoff.ofThreads(hub.size(), 1);
        this.collectives = over(hub, rank);
    }

    private DataPlane over(LocalHub members, int place) {
        Rounds rounds = new Rounds(members.memory(place), members.group(), backoff);
        return new OneLevelCollectives(
                rounds,
                Reducer.ofPlaces(ReduceKernel.NONE),
                new ThreadPairs(members, place),
                members == hub,
                Progress.NONE);
    }

    @Override
    public String description() {
        return hub.size() == 1 ? "local (one rank)" : "local (" + hub.size() + " ranks as threads of one JVM)";
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
        return new LocalChannel(hub.furtherMailboxes(opened++), rank);
    }

    @Override
    public DataPlane collectives() {
        return collectives;
    }

    @Override
    public DataPlane collectives(List<Integer> members) {
        return over(hub.set(members), members.indexOf(rank));
    }

    @Override
    public List<byte[]> exchange(byte[] mine) {
        hub.exchanged().set(rank, mine);
        hub.rendezvous().meet();
        List<byte[]> all = List.copyOf(hub.exchanged());
        hub.rendezvous().meet();
        return all;
    }

    @Override
    public Transfers transfers() {
        throw new UnsupportedOperationException(
                "the ranks are threads of one process, which hand tensors to each other");
    }

    @Override
    public ReduceKernel kernel() {
        return ReduceKernel.NONE;
    }

    @Override
    public void programWaits(BooleanSupplier waits) {
        backoff.programWaits(waits);
    }

    /** Returns that no call is due, because a message arrives as soon as it is sent. */
    @Override
    public Progress progress() {
        return Progress.NONE;
    }

    @Override
    public void abort(int exitCode, String reason) {
        hub.lose(rank, reason);
    }

    @Override
    public void close() {
        // There is nothing to release but memory.
    }
}
