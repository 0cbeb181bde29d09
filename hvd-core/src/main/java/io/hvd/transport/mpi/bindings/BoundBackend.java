package io.hvd.transport.mpi.bindings;

import io.hvd.collective.AllreduceChoice;
import io.hvd.collective.NetworkWait;
import io.hvd.collective.TransportCollectives;
import io.hvd.config.HvdConfig;
import io.hvd.control.FinalBarrier;
import io.hvd.control.SocketControl;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.kernel.ReduceKernel;
import io.hvd.spi.Backend;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Progress;
import io.hvd.spi.Topology;
import io.hvd.spi.Transfers;
import io.hvd.transport.mpi.MpiProgress;
import io.hvd.transport.mpi.OperatorCheck;
import io.hvd.transport.mpi.Operators;
import io.hvd.transport.mpi.Place;
import io.hvd.transport.mpi.ThreadLevel;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import mpi.Comm;
import mpi.Group;
import mpi.Intracomm;
import mpi.MPI;
import mpi.MPIException;

/**
 * A rank of an MPI job: data travels over a communicator of its own, control messages over sockets, on which waiting
 * takes no processor time.
 */
final class BoundBackend implements Backend {
    /** The tag that createGroup needs all members to share; {@link BoundSession} uses the one before. */
    private static final int SET_TAG = 4712;

    /** A tag that no message has. */
    private static final int PROGRESS_TAG = 4713;

    private final Intracomm comm;
    private final ThreadLevel level;
    private final HvdConfig config;
    private final int rank;
    private final int size;
    private final Topology topology;
    private final SocketControl control;
    private final FinalBarrier finalBarrier;
    private final Operators operators;
    private final NetworkWait wait;
    private final MpiProgress progress;
    private final DataPlane collectives;
    private final FinalBarrierOwner heir;
    private final List<SocketControl> further = new ArrayList<>();
    /** The transfers; null until they are asked for. */
    private MpiGroup transfers;

    /** Receives the final barrier when this back end is closed. */
    interface FinalBarrierOwner {
        void take(FinalBarrier finalBarrier, int size) throws MPIException;
    }

    BoundBackend(Intracomm comm, ThreadLevel level, HvdConfig config, FinalBarrierOwner heir) throws MPIException {
        this.heir = heir;
        this.comm = comm;
        this.level = level;
        this.config = config;
        this.rank = comm.getRank();
        this.size = comm.getSize();
        this.progress = new MpiProgress(this::callMpi, System::nanoTime);
        this.topology = discover();
        List<SocketControl> stars = SocketControl.connect(topology, config, this::exchange, 2);
        this.control = stars.get(0);
        this.finalBarrier = new FinalBarrier(stars.get(1), rank, size);
        this.operators = Operators.agreed(new OperatorCheck(new MpiOperator()), this::exchange);
        this.wait = NetworkWait.of(topology.localSize());
        this.collectives = over(comm, everybody());
    }

    private Topology discover() throws MPIException {
        Intracomm node = comm.splitType(Comm.TYPE_SHARED, rank, MPI.INFO_NULL);
        int[] leader = {rank};
        node.bcast(leader, 1, MPI.INT, 0);
        node.free();
        List<String> nodes = new ArrayList<>();
        List<String> hosts = new ArrayList<>();
        for (byte[] place : exchange(new Place(leader[0], MPI.getProcessorName()).encode())) {
            Place theirs = Place.decode(place);
            nodes.add(Integer.toString(theirs.leader()));
            hosts.add(theirs.host());
        }
        return Topology.of(rank, nodes, hosts);
    }

    @Override
    public String description() {
        return "mpi (" + MPI.getLibVersion().split(",")[0] + ", " + level
                + (operators.refused().isEmpty() ? "" : ", without its operators " + operators.refused()) + ")";
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
        SocketControl channel = SocketControl.connect(topology, config, this::exchange);
        further.add(channel);
        return channel;
    }

    @Override
    public DataPlane collectives() {
        return collectives;
    }

    @Override
    public DataPlane collectives(List<Integer> members) {
        try {
            int[] ranks = members.stream().mapToInt(Integer::intValue).toArray();
            Group everybody = comm.getGroup();
            Group some = everybody.incl(ranks);
            progress.sent();
            Intracomm theirs = comm.createGroup(some, SET_TAG);
            some.free();
            everybody.free();
            return over(theirs, members);
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Comm_create_group for ranks " + members + " failed: " + e, e);
        }
    }

    private DataPlane over(Intracomm some, List<Integer> members) throws MPIException {
        return new TransportCollectives(
                new MpiGroup(some, operators, progress),
                members.indexOf(rank),
                members.size(),
                wait,
                config.memory().stageBytes(),
                choice(members));
    }

    private List<Integer> everybody() {
        return IntStream.range(0, size).boxed().toList();
    }

    private AllreduceChoice choice(List<Integer> members) {
        long hosts = members.stream().map(topology.nodes()::get).distinct().count();
        return new AllreduceChoice(config.mpi().allreduce(), Math.toIntExact(hosts));
    }

    @Override
    public Transfers transfers() {
        try {
            progress.sent();
            transfers = new MpiGroup(comm.dup(), operators, progress);
            return transfers.transfers();
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Comm_dup failed at start-up: " + e, e);
        }
    }

    @Override
    public ReduceKernel kernel() {
        return new LocalReduction(operators);
    }

    @Override
    public List<byte[]> exchange(byte[] mine) {
        try {
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
                byRank.add(java.util.Arrays.copyOfRange(all, starts[i], starts[i] + lengths[i]));
            }
            return byRank;
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Allgatherv failed at start-up: " + e, e);
        }
    }

    /** Changes nothing, because {@link NetworkWait} goes by the number of cores. */
    @Override
    public void programWaits(BooleanSupplier waits) {
        // Nothing asks it.
    }

    @Override
    public Progress progress() {
        return progress;
    }

    /** Looks for a message that no rank sends, so that MPI moves on whatever it has under way. */
    private void callMpi() {
        try {
            comm.iProbe(MPI.ANY_SOURCE, PROGRESS_TAG);
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Iprobe failed: " + e.getMessage(), e);
        }
    }

    @Override
    public void abort(int exitCode, String reason) {
        try {
            MPI.COMM_WORLD.abort(exitCode);
        } catch (MPIException e) {
            Runtime.getRuntime().halt(exitCode);
        }
    }

    @Override
    public void close() {
        try {
            // No rank closes its connection while another one still has to read the last plan.
            finalBarrier.meet();
            heir.take(finalBarrier, size);
            control.close();
            further.forEach(SocketControl::close);
            if (transfers != null) {
                transfers.close();
            }
            comm.free();
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "leaving the communicator failed: " + e, e);
        }
    }
}
