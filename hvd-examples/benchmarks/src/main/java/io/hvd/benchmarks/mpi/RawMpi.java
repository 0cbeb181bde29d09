package io.hvd.benchmarks.mpi;

import io.hvd.benchmarks.rank.MpiCalls;
import java.nio.ByteBuffer;
import mpi.MPI;
import mpi.MPIException;

/**
 * The calls of MPI that a program without hvd would make. {@link MpiCalls#beside} makes it and links it to the mpi.jar
 * that hvd has loaded.
 */
public final class RawMpi implements MpiCalls {
    @Override
    public String version() {
        // "Open MPI v4.1.4, package: ..."
        return MPI.getLibVersion().replaceFirst("(?s)^\\D*([\\d.]+).*", "mpi.jar-$1");
    }

    @Override
    public void sum(ByteBuffer floats, int count) {
        try {
            MPI.COMM_WORLD.allReduce(floats, count, MPI.FLOAT, MPI.SUM);
        } catch (MPIException e) {
            throw new IllegalStateException("MPI_Allreduce of " + count + " floats failed", e);
        }
    }

    @Override
    public void broadcast(ByteBuffer floats, int count) {
        try {
            MPI.COMM_WORLD.bcast(floats, count, MPI.FLOAT, 0);
        } catch (MPIException e) {
            throw new IllegalStateException("MPI_Bcast of " + count + " floats failed", e);
        }
    }

    @Override
    public void allgather(ByteBuffer source, ByteBuffer target, int each) {
        try {
            MPI.COMM_WORLD.allGather(source, each, MPI.FLOAT, target, each, MPI.FLOAT);
        } catch (MPIException e) {
            throw new IllegalStateException("MPI_Allgather of " + each + " floats each failed", e);
        }
    }

    @Override
    public void reduceScatter(ByteBuffer source, ByteBuffer target, int each) {
        try {
            MPI.COMM_WORLD.reduceScatterBlock(source, target, each, MPI.FLOAT, MPI.SUM);
        } catch (MPIException e) {
            throw new IllegalStateException("MPI_Reduce_scatter_block of " + each + " floats each failed", e);
        }
    }

    @Override
    public void alltoall(ByteBuffer source, ByteBuffer target, int each) {
        try {
            MPI.COMM_WORLD.allToAll(source, each, MPI.FLOAT, target, each, MPI.FLOAT);
        } catch (MPIException e) {
            throw new IllegalStateException("MPI_Alltoall of " + each + " floats each failed", e);
        }
    }

    @Override
    public void barrier() {
        try {
            MPI.COMM_WORLD.barrier();
        } catch (MPIException e) {
            throw new IllegalStateException("MPI_Barrier failed", e);
        }
    }

    @Override
    public float mean(float ours) {
        float[] sum = {ours};
        try {
            MPI.COMM_WORLD.allReduce(sum, 1, MPI.FLOAT, MPI.SUM);
            return sum[0] / MPI.COMM_WORLD.getSize();
        } catch (MPIException e) {
            throw new IllegalStateException("MPI_Allreduce of a time failed", e);
        }
    }
}
