package io.hvd.transport.mpi.calls;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.nio.ByteBuffer;

/**
 * The functions of MPI that hvd calls, through whatever leads from Java to an MPI library. Every method throws an {@link
 * io.hvd.error.HvdException} that names the function if MPI reports an error. All buffers are direct, and MPI reads and
 * writes them from their first byte on, whatever their position.
 */
public interface Mpi {
    /** MPI_Initialized. */
    boolean isInitialized();

    /** MPI_Init_thread; from then on errors are returned. */
    ThreadLevel initialize(ThreadLevel wanted);

    /** MPI_Query_thread. */
    ThreadLevel provided();

    /** MPI_Is_thread_main. */
    boolean isThreadMain();

    /** MPI_COMM_WORLD. */
    MpiCommunicator world();

    /** MPI_Get_processor_name. */
    String processorName();

    /** MPI_Get_library_version. */
    String version();

    /** MPI_Reduce_local: combines the first {@code count} elements of both buffers into the second. */
    void reduceLocal(ByteBuffer operand, ByteBuffer result, int count, DType type, ReduceOp op);

    /** MPI_Finalize. */
    void finish();
}
