package io.hvd.backend.nccl;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;

/**
 * All that the back end needs of NCCL and of the CUDA runtime. Handles and device addresses are plain
 * numbers. A call that fails throws {@link io.hvd.error.HvdException}.
 *
 * <p>Every NCCL function behind it is in NCCL 2.18: symbols are bound at the first call, and one that
 * the installed library lacks would end the JVM.
 */
interface NcclCalls {
    /** As NCCL writes it, {@code 2.18.5}. */
    String version();

    /** NCCL's own number, such as 21805. */
    int versionCode();

    void selectDevice(int index);

    /** What the ranks of a communicator must share; made by one of them. */
    byte[] uniqueId();

    /** Waits for all ranks; the communicator is bound to the selected device. */
    long join(byte[] uniqueId, int size, int rank);

    /** In order: every rank comes. */
    void leave(long communicator);

    /** Out of order: what is under way on the device is given up, and nobody else need come. Any thread. */
    void abort(long communicator);

    /** Throws if something has gone wrong on the device or the network since. */
    void requireSound(long communicator);

    void groupStart();

    void groupEnd();

    /** As NCCL numbers it. */
    int operator(ReduceOp op);

    /** A sum that is divided by the number of ranks. */
    int average();

    /** A sum of values that are multiplied by the factor beforehand. */
    int createScaledSum(double factor, DType type, long communicator);

    /** As soon as the calls that use it have returned. */
    void destroyOperator(int operator, long communicator);

    void allReduce(long from, long to, long count, DType type, int operator, long communicator, long stream);

    void reduce(long from, long to, long count, DType type, int operator, int root, long communicator, long stream);

    /** @param count elements that each rank gets */
    void reduceScatter(long from, long to, long count, DType type, int operator, long communicator, long stream);

    void broadcast(long from, long to, long bytes, int root, long communicator, long stream);

    /** @param bytes that each rank brings */
    void allGather(long from, long to, long bytes, long communicator, long stream);

    void send(long from, long bytes, int to, long communicator, long stream);

    void receive(long to, long bytes, int from, long communicator, long stream);
}
