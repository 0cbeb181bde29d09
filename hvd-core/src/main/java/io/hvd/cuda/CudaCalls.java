package io.hvd.cuda;

import java.nio.ByteBuffer;

/**
 * The functions of the CUDA driver that this package needs, for one GPU. Handles and device addresses are plain
 * numbers; streams may come from any library, and 0 is the default stream. A call that fails throws {@link
 * io.hvd.error.HvdException}.
 *
 * <p>Only the thread on which the GPU was opened makes calls.
 */
interface CudaCalls {
    /** The CUDA version that the driver is made for, such as 12040. */
    int driverVersion();

    /** The compute capability as a number, such as 75 for 7.5. */
    int computeCapability();

    int multiprocessors();

    long allocate(long bytes);

    /** Frees memory; waits for the work that uses it. */
    void free(long address);

    /** Allocates host memory that the GPU reads and writes by itself, in native byte order. */
    ByteBuffer allocatePinned(int bytes);

    void freePinned(ByteBuffer buffer);

    /** Queues a copy of a part of a pinned buffer. */
    void copyToDevice(long to, ByteBuffer from, int at, int bytes, long stream);

    /** Queues a copy into a part of a pinned buffer. */
    void copyToHost(ByteBuffer to, int at, long from, int bytes, long stream);

    /** Queues the writing of zeros. */
    void clear(long address, long bytes, long stream);

    /**
     * Queues the writing of one value to all elements of a range.
     *
     * @param value the bits of an element; those beyond its width do not count
     * @param width bytes of an element: 1, 2, 4 or 8
     */
    void fill(long address, long value, int width, long elements, long stream);

    /** Makes a stream that does not wait for the default stream. */
    long createStream();

    void destroyStream(long stream);

    /** Blocks until all work that is queued on the stream is done. */
    void awaitStream(long stream);

    /** Makes an event that notes no time. */
    long createEvent();

    /** Makes an event that notes the time at which the GPU reaches it. */
    long createTimedEvent();

    void destroyEvent(long event);

    void recordEvent(long event, long stream);

    /** Makes work that is queued on the stream from now on wait for the event. */
    void holdUntil(long stream, long event);

    /** Blocks until the GPU has reached the event. */
    void awaitEvent(long event);

    /** True if the GPU has reached the event. */
    boolean isReached(long event);

    /** The time between two timed events that the GPU has reached. */
    float millisBetween(long earlier, long later);

    /** The handle of the GPU's context. */
    long context();

    /** Compiles PTX for this GPU. */
    long loadModule(String ptx);

    void unloadModule(long module);

    long function(long module, String entry);

    /** Queues one of the kernels of segments.cu. */
    void launch(long function, Grid grid, Arguments arguments, long stream);

    /** Makes the GPU's context the current one of the calling thread. */
    void enter();

    /** Releases the GPU's context. */
    void close();

    /** The shape of a launch. */
    record Grid(int blocks, int threads) {}

    /**
     * The arguments of the kernels, in this order.
     *
     * @param table device address of the rows
     * @param nonFinite device address of an int, or 0
     */
    record Arguments(long table, int rows, long tiles, double scale, long nonFinite) {}
}
