package io.hvd.transport.mpi;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.net.HostAddress;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.Topology;
import io.hvd.transport.mpi.calls.Mpi;
import io.hvd.transport.mpi.calls.MpiCommunicator;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** The ranks of a communicator, which tell each other what they need by MPI_Allgatherv. */
final class MpiBootstrap implements Bootstrap {
    private final MpiCommunicator comm;
    private final MpiProgress progress;
    private final Topology topology;
    private final int generation;

    /** All ranks come here together. @param next the least number of this job, as this process sees it */
    MpiBootstrap(Mpi mpi, MpiCommunicator comm, MpiProgress progress, int next) {
        this.comm = comm;
        this.progress = progress;
        List<Place> places = exchange(new Place(HostAddress.node(), mpi.processorName(), next).encode()).stream()
                .map(Place::decode)
                .toList();
        this.topology = Topology.of(
                comm.rank(),
                places.stream().map(Place::node).toList(),
                places.stream().map(Place::host).toList());
        this.generation = places.stream().mapToInt(Place::next).max().orElse(next);
    }

    private static ByteBuffer direct(int bytes) {
        return BufferLedger.PROCESS.direct(Owner.MPI, bytes).order(ByteOrder.nativeOrder());
    }

    @Override
    public Topology topology() {
        return topology;
    }

    @Override
    public int generation() {
        return generation;
    }

    @Override
    public List<byte[]> exchange(byte[] mine) {
        int[] lengths = lengths(mine.length);
        int[] starts = new int[lengths.length];
        for (int i = 1; i < starts.length; i++) {
            starts[i] = Math.addExact(starts[i - 1], lengths[i - 1]);
        }
        int last = starts.length - 1;
        ByteBuffer all = direct(Math.addExact(starts[last], lengths[last]));
        comm.allgather(direct(mine.length).put(0, mine), mine.length, all, lengths, starts);
        // The last of what a rank sent may still wait for room in its own socket, and a rank that waits for anything
        // but MPI does not move it on. When a second call is over, every rank has begun it, and so has received all
        // that was sent before. A job on one host that has everything else in shared memory no longer calls MPI from
        // here on, and a foreign process at MPI's ports cannot stop it.
        meet();
        progress.delivered();
        List<byte[]> byRank = new ArrayList<>();
        for (int i = 0; i < lengths.length; i++) {
            byte[] theirs = new byte[lengths[i]];
            all.get(starts[i], theirs);
            byRank.add(theirs);
        }
        return byRank;
    }

    /** Returns when every rank has begun this call. */
    private void meet() {
        lengths(0);
    }

    private int[] lengths(int mine) {
        int size = comm.size();
        ByteBuffer all = direct(size * Integer.BYTES).putInt(comm.rank() * Integer.BYTES, mine);
        comm.allgather(all, Integer.BYTES);
        int[] lengths = new int[size];
        all.asIntBuffer().get(lengths);
        return lengths;
    }
}
