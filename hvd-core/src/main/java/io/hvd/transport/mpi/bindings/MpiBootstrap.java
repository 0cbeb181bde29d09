package io.hvd.transport.mpi.bindings;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.Topology;
import io.hvd.transport.mpi.MpiProgress;
import io.hvd.transport.mpi.Place;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import mpi.Comm;
import mpi.Intracomm;
import mpi.MPI;
import mpi.MPIException;

/** The ranks of a communicator, which tell each other what they need by MPI_Allgatherv. */
final class MpiBootstrap implements Bootstrap {
    private final Intracomm comm;
    private final MpiProgress progress;
    private final Topology topology;
    private final int generation;

    /** All ranks come here together. @param next the least number of this job, as this process sees it */
    MpiBootstrap(Intracomm comm, MpiProgress progress, int next) throws MPIException {
        this.comm = comm;
        this.progress = progress;
        int rank = comm.getRank();
        Intracomm node = comm.splitType(Comm.TYPE_SHARED, rank, MPI.INFO_NULL);
        int[] leader = {rank};
        node.bcast(leader, 1, MPI.INT, 0);
        node.free();
        List<Place> places = exchange(new Place(leader[0], MPI.getProcessorName(), next).encode()).stream()
                .map(Place::decode)
                .toList();
        this.topology = Topology.of(
                rank,
                places.stream().map(place -> Integer.toString(place.leader())).toList(),
                places.stream().map(Place::host).toList());
        this.generation = places.stream().mapToInt(Place::next).max().orElse(next);
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
        try {
            int size = comm.getSize();
            int[] lengths = new int[size];
            comm.allGather(new int[] {mine.length}, 1, MPI.INT, lengths, 1, MPI.INT);
            int[] starts = new int[size];
            for (int i = 1; i < size; i++) {
                starts[i] = Math.addExact(starts[i - 1], lengths[i - 1]);
            }
            byte[] all = new byte[Math.addExact(starts[size - 1], lengths[size - 1])];
            comm.allGatherv(mine, mine.length, MPI.BYTE, all, lengths, starts, MPI.BYTE);
            // Every rank has come here, and so has received all that was sent before. A job on one host that has
            // everything else in shared memory no longer calls MPI from here on, and a foreign process at MPI's ports
            // cannot stop it.
            progress.delivered();
            List<byte[]> byRank = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                byRank.add(Arrays.copyOfRange(all, starts[i], starts[i] + lengths[i]));
            }
            return byRank;
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Allgatherv failed at start-up: " + e, e);
        }
    }
}
