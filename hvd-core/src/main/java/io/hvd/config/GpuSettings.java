package io.hvd.config;

/**
 * How ranks use GPUs.
 *
 * @param pin whether hvd gives each rank its own
 * @param share whether ranks may have the same one
 * @param stageBytes that a batch of small tensors is packed into; as many pinned on the host where there is no NCCL
 * @param asyncCompletion whether an operation between GPUs is done for the host as soon as it is queued
 */
public record GpuSettings(boolean pin, boolean share, int stageBytes, boolean asyncCompletion) {
    private static final int SMALLEST_STAGE = 4096;

    static GpuSettings from(SettingReader reader) {
        return new GpuSettings(
                reader.flag(Setting.PIN_GPU),
                reader.flag(Setting.SHARE_GPU),
                Math.toIntExact(Math.min(reader.atLeast(Setting.GPU_STAGE_BYTES, SMALLEST_STAGE), 1 << 30)),
                reader.flag(Setting.ASYNC_COMPLETION));
    }
}
