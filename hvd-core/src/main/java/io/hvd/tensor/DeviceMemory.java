package io.hvd.tensor;

/**
 * A range of GPU memory.
 *
 * @param address device address of the first byte
 * @param bytes length of the range
 * @param device the GPU that owns it
 * @param stream handle of the CUDA stream on which the user's work on this memory is queued; 0 is the default stream
 */
public record DeviceMemory(long address, long bytes, Device device, long stream) implements Memory {
    public DeviceMemory {
        if (device.isCpu()) {
            throw new IllegalArgumentException("device memory was given device cpu, expected a CUDA device");
        }
        if (bytes < 0 || (bytes > 0 && address == 0)) {
            throw new IllegalArgumentException("device memory of " + bytes + " bytes at address " + address);
        }
    }
}
