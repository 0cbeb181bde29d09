package io.hvd.transport.mpi.bindings;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.kernel.ReduceKernel;
import io.hvd.spi.Abandonment;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.Progress;
import io.hvd.spi.Transport;
import io.hvd.transport.mpi.MpiProgress;
import io.hvd.transport.mpi.OperatorCheck;
import io.hvd.transport.mpi.Operators;
import io.hvd.transport.mpi.ThreadLevel;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import mpi.Intracomm;
import mpi.MPI;
import mpi.MPIException;

/**
 * MPI between the ranks of a communicator. {@link #abandon} ends waits for transfers and refuses further calls; a blocking
 * call of MPI cannot be left.
 */
final class MpiTransport implements Transport {
    /** The tag that createGroup needs all members to share; {@link BoundSession} uses the one before. */
    private static final int SET_TAG = 4712;

    private final Intracomm comm;
    private final ThreadLevel level;
    private final List<Integer> everybody;
    private final MpiProgress progress;
    private final Abandonment abandonment = new Abandonment();
    private final Operators operators;
    private boolean ownGroupTaken;

    /** All ranks come here together. */
    MpiTransport(Intracomm comm, ThreadLevel level, Bootstrap bootstrap, MpiProgress progress) throws MPIException {
        this.comm = comm;
        this.level = level;
        this.progress = progress;
        this.everybody = IntStream.range(0, comm.getSize()).boxed().toList();
        this.operators = Operators.agreed(new OperatorCheck(new MpiOperator()), bootstrap::exchange);
    }

    @Override
    public String description() {
        return "mpi (" + MPI.getLibVersion().split(",")[0] + ", " + level
                + (operators.refused().isEmpty() ? "" : ", without its operators " + operators.refused()) + ")";
    }

    /** The first group of all ranks uses the communicator itself, every other one a communicator of its own. */
    @Override
    public Group group(List<Integer> members) {
        try {
            if (!ownGroupTaken && members.equals(everybody)) {
                ownGroupTaken = true;
                return new MpiGroup(comm, false, operators, progress, abandonment);
            }
            int[] ranks = members.stream().mapToInt(Integer::intValue).toArray();
            mpi.Group all = comm.getGroup();
            mpi.Group some = all.incl(ranks);
            progress.sent();
            Intracomm theirs = comm.createGroup(some, SET_TAG);
            some.free();
            all.free();
            return new MpiGroup(theirs, true, operators, progress, abandonment);
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Comm_create_group for ranks " + members + " failed: " + e, e);
        }
    }

    @Override
    public void rest(long nanos) {
        LockSupport.parkNanos(nanos);
    }

    @Override
    public Progress progress() {
        return progress;
    }

    @Override
    public ReduceKernel kernel() {
        return new MpiReduceKernel(operators);
    }

    @Override
    public void abandon(String why) {
        abandonment.abandon(why);
    }

    @Override
    public void close() {
        try {
            comm.free();
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "leaving the communicator failed: " + e, e);
        }
    }
}
