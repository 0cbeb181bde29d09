package io.hvd.backend.cuda;

import java.nio.ByteBuffer;

/**
 * All that this package needs of the CUDA driver, for one GPU. Handles and device addresses are plain numbers; the
 * streams may be anybody's, 0 is the default stream. A call that fails throws {@link io.hvd.error.HvdException}.
 *
 * <p>Calls are for the thread on which the GPU was opened.
 */
interface CudaCalls {
    /** The CUDA version that the driver is made for, such as 12040. */
    int driverVersion();

    /** As 75 for 7.5. */
    int computeCapability();

    int multiprocessors();

    long allocate(long bytes);

    /** Waits for the work that uses the memory. */
    void free(long address);

    /** Host memory that the GPU reads and writes by itself, in native byte order. */
    ByteBuffer allocatePinned(int bytes);

    void freePinned(ByteBuffer buffer);

    /** Queues a copy of a part of a pinned buffer. */
    void copyToDevice(long to, ByteBuffer from, int at, int bytes, long stream);

    /** Queues a copy into a part of a pinned buffer. */
    void copyToHost(ByteBuffer to, int at, long from, int bytes, long stream);

    /** Queues the writing of zeros. */
    void clear(long address, long bytes, long stream);

    /** A stream that does not wait for the default stream. */
    long createStream();

    void destroyStream(long stream);

    /** Blocks until all that is queued on the stream is done. */
    void awaitStream(long stream);

    long createEvent();

    void destroyEvent(long event);

    void recordEvent(long event, long stream);

    /** Work queued on the stream from now on starts after what the event was recorded behind. */
    void holdUntil(long stream, long event);

    /** Blocks until what the event was recorded behind is done. */
    void awaitEvent(long event);

    /** Whether what the event was recorded behind is done. */
    boolean isReached(long event);

    /** Compiles PTX for this GPU. */
    long loadModule(String ptx);

    void unloadModule(long module);

    long function(long module, String entry);

    /** Queues one of the kernels of segments.cu. */
    void launch(long function, Grid grid, Arguments arguments, long stream);

    /** Makes the GPU's context the current one of the calling thread. */
    void enter();

    /** Gives the GPU back. */
    void close();

    /** The shape of a launch. */
    record Grid(int blocks, int threads) {}

    /**
     * What the kernels take, in this order.
     *
     * @param table device address of the rows
     * @param nonFinite device address of an int, or 0
     */
    record Arguments(long table, int rows, long tiles, double scale, long nonFinite) {}
}
