package io.hvd.tensor;

/**
 * The memory of a tensor's elements, contiguous and in row-major order. The memory belongs to the
 * code that made it; hvd reads and writes it only between the submission and the completion of an operation.
 */
public sealed interface Memory permits HostMemory, DeviceMemory {
    long bytes();

    Device device();
}
