package io.hvd.config;

/**
 * The host memory of a process outside the heap.
 *
 * @param stageBytes of the buffer through which tensors stream
 * @param shared whether the ranks of a host exchange their tensors in shared memory
 * @param maxBufferBytes the most that hvd may have in this process; 0 for any number
 * @param bufferSites whether the place of each buffer's allocation is kept
 */
public record MemorySettings(int stageBytes, boolean shared, long maxBufferBytes, boolean bufferSites) {
    private static final int SMALLEST_STAGE = 4096;

    static MemorySettings from(SettingReader reader) {
        return new MemorySettings(
                Math.toIntExact(Math.min(reader.atLeast(Setting.STAGE_BYTES, SMALLEST_STAGE), 1 << 30)),
                reader.flag(Setting.SHARED_MEMORY),
                reader.atLeast(Setting.MAX_BUFFER_BYTES, 0),
                reader.flag(Setting.BUFFER_SITES));
    }
}
