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

    void leave(long communicator);

    /** A stream that does not wait for the default stream. */
    long createStream();

    void destroyStream(long stream);

    void waitFor(long stream);

    long createEvent();

    void destroyEvent(long event);

    void recordEvent(long event, long stream);

    /** Work queued on the stream from now on starts after what the event was recorded behind. */
    void holdUntil(long stream, long event);

    void groupStart();

    void groupEnd();

    int operator(ReduceOp op);

    /** A sum of values that are multiplied by the factor beforehand. */
    int createScaledSum(double factor, DType type, long communicator);

    void destroyOperator(int operator, long communicator);

    void allReduce(long from, long to, long count, DType type, int operator, long communicator, long stream);

    void broadcast(long from, long to, long count, DType type, int root, long communicator, long stream);
}
