package io.hvd.transport.nccl.natives;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;

/**
 * The functions of NCCL, and of CUDA through JavaCPP, that the back end needs. Handles and device addresses are plain
 * numbers. A call that fails throws {@link io.hvd.error.HvdException}.
 *
 * <p>NCCL 2.18 has all of these functions. That matters because symbols are bound at the first call, and a symbol that
 * the installed library lacks would end the JVM.
 */
public interface NcclCalls {
    /** The oldest CUDA version of a driver with {@link #recordAfterAllWork}. */
    int OLDEST_DRIVER_FOR_ALL_WORK = 12050;

    /** NCCL's version as NCCL writes it, such as {@code 2.18.5}. */
    String version();

    /** NCCL's version as NCCL's own number, such as 21805. */
    int versionCode();

    void selectDevice(int index);

    /**
     * Records an event after all work that is queued now on any stream of a context, whoever made the stream. It
     * belongs to the driver, but JCuda does not have it.
     */
    void recordAfterAllWork(long context, long event);

    /** Makes the id that the ranks of a communicator must share; one of them calls this. */
    byte[] uniqueId();

    /** Makes a communicator on the selected device; waits for all ranks. */
    long join(byte[] uniqueId, int size, int rank);

    /** Leaves a communicator in order; every rank calls it. */
    void leave(long communicator);

    /** Gives up a communicator and its work on the device, without the other ranks. Any thread may call it. */
    void abort(long communicator);

    /** Throws if an error has happened on the device or the network since the communicator was made. */
    void requireSound(long communicator);

    void groupStart();

    void groupEnd();

    /** NCCL's number for an operator. */
    int operator(ReduceOp op);

    /** NCCL's number for the sum divided by the number of ranks. */
    int average();

    /** Makes an operator that sums values after it has multiplied them by the factor. */
    int createScaledSum(double factor, DType type, long communicator);

    /** Frees an operator; allowed as soon as the calls that use it have returned. */
    void destroyOperator(int operator, long communicator);

    void allReduce(long from, long to, long count, DType type, int operator, long communicator, long stream);

    void reduce(long from, long to, long count, DType type, int operator, int root, long communicator, long stream);

    /** @param count number of elements that each rank gets */
    void reduceScatter(long from, long to, long count, DType type, int operator, long communicator, long stream);

    void broadcast(long from, long to, long bytes, int root, long communicator, long stream);

    /** @param bytes number of bytes that each rank contributes */
    void allGather(long from, long to, long bytes, long communicator, long stream);

    void send(long from, long bytes, int to, long communicator, long stream);

    void receive(long to, long bytes, int from, long communicator, long stream);
}
