package io.hvd.host.local;

import io.hvd.host.memory.Backoff;
import io.hvd.host.memory.OneLevelCollectives;
import io.hvd.host.memory.Rounds;
import io.hvd.kernel.ReduceKernel;
import io.hvd.kernel.Reducer;
import io.hvd.spi.DataPlane;
import io.hvd.spi.DataPlanes;
import io.hvd.spi.Progress;
import java.util.List;
import java.util.function.BooleanSupplier;

/** Data planes of threads that share the memory of their JVM. */
final class ThreadPlanes implements DataPlanes {
    private final LocalHub hub;
    private final int rank;
    private final Backoff backoff;
    private final DataPlane all;

    ThreadPlanes(LocalHub hub, int rank) {
        this.hub = hub;
        this.rank = rank;
        this.backoff = Backoff.ofThreads(hub.size(), 1);
        this.all = over(hub, rank);
    }

    private DataPlane over(LocalHub members, int place) {
        Rounds rounds = new Rounds(members.memory(place), members.group(), backoff);
        return new OneLevelCollectives(
                rounds,
                Reducer.ofPlaces(ReduceKernel.OFFERED),
                new ThreadPairs(members, place),
                members == hub,
                Progress.NONE);
    }

    @Override
    public DataPlane ofAll() {
        return all;
    }

    @Override
    public DataPlane of(List<Integer> members) {
        return over(hub.set(members), members.indexOf(rank));
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
    public void abandon(String why) {
        hub.lose(rank, why);
    }

    @Override
    public void leave() {
        // A rank that leaves is not missed: it leaves after its last operation.
    }

    @Override
    public void close() {
        // There is nothing to release but memory.
    }
}
