package io.hvd.transport.mpi;

import io.hvd.kernel.ReduceKernel;
import io.hvd.spi.Abandonment;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.Progress;
import io.hvd.spi.Transport;
import io.hvd.transport.mpi.Operators.Operator;
import io.hvd.transport.mpi.calls.Mpi;
import io.hvd.transport.mpi.calls.MpiCommunicator;
import io.hvd.transport.mpi.calls.ThreadLevel;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/**
 * MPI between the ranks of a communicator. {@link #abandon} ends waits for transfers and refuses further calls; a blocking
 * call of MPI cannot be left.
 */
final class MpiTransport implements Transport {
    /** The tag that MPI_Comm_create_group needs all members to share; {@link MpiSession} uses the one before. */
    private static final int SET_TAG = 4712;

    private final Mpi mpi;
    private final MpiCommunicator comm;
    private final ThreadLevel level;
    private final List<Integer> everybody;
    private final MpiProgress progress;
    private final Abandonment abandonment = new Abandonment();
    private final Operators operators;
    private boolean ownGroupTaken;

    /** All ranks come here together. */
    MpiTransport(Mpi mpi, MpiCommunicator comm, ThreadLevel level, Bootstrap bootstrap, MpiProgress progress) {
        this.mpi = mpi;
        this.comm = comm;
        this.level = level;
        this.progress = progress;
        this.everybody = IntStream.range(0, comm.size()).boxed().toList();
        this.operators = Operators.agreed(new OperatorCheck(this::reduce), bootstrap::exchange);
    }

    /** The beginning of what the library says of itself, such as {@code Open MPI v4.1.4} or {@code MPICH Version: 4.0.2}. */
    private String library() {
        return mpi.version().split("[,\n]")[0].replaceAll("\\s+", " ");
    }

    private void reduce(Operator operator, ByteBuffer operand, ByteBuffer result, int count) {
        mpi.reduceLocal(operand, result, count, operator.type(), operator.op());
    }

    @Override
    public String description() {
        return "mpi (" + library() + ", " + level
                + (operators.refused().isEmpty() ? "" : ", without its operators " + operators.refused()) + ")";
    }

    /** The first group of all ranks uses the communicator itself, every other one a communicator of its own. */
    @Override
    public Group group(List<Integer> members) {
        if (!ownGroupTaken && members.equals(everybody)) {
            ownGroupTaken = true;
            return new MpiGroup(comm, false, operators, progress, abandonment);
        }
        int[] ranks = members.stream().mapToInt(Integer::intValue).toArray();
        progress.sent();
        return new MpiGroup(comm.of(ranks, SET_TAG), true, operators, progress, abandonment);
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
        return new MpiReduceKernel(mpi, operators);
    }

    @Override
    public void abandon(String why) {
        abandonment.abandon(why);
    }

    @Override
    public void close() {
        comm.free();
    }
}
