package io.hvd.tensor;

/**
 * Where a tensor's elements lie, contiguous and in row-major order. The memory belongs to whoever
 * made it; hvd reads and writes it only between submission and completion of an operation.
 */
public sealed interface Memory permits HostMemory, DeviceMemory {
    long bytes();

    Device device();
}
