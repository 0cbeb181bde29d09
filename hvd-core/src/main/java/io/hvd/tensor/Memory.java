package io.hvd.tensor;

/**
 * The memory of a tensor's elements, contiguous and in row-major order. It belongs to the code that made it; hvd reads
 * and writes it only between submission and completion of an operation.
 */
public sealed interface Memory permits HostMemory, DeviceMemory {
    /** The number of bytes. */
    long bytes();

    /** The device that the memory belongs to. */
    Device device();
}
