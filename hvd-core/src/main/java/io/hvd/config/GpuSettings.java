package io.hvd.config;

import java.util.List;

/**
 * The use of GPUs by ranks.
 *
 * @param pin whether hvd gives each rank its own
 * @param perRank GPUs of each rank
 * @param share whether ranks may have the same one
 * @param stageBytes that a batch of small tensors is packed into; as many pinned on the host where there is no NCCL
 * @param resultBytes bytes of garbage-collected results that are kept for later ones
 * @param asyncCompletion whether an operation between GPUs is done for the host as soon as it is queued
 * @param across how allreduces get from node to node
 */
public record GpuSettings(
        boolean pin,
        int perRank,
        boolean share,
        int stageBytes,
        long resultBytes,
        boolean asyncCompletion,
        AcrossNodes across) {
    private static final int SMALLEST_STAGE = 4096;
    private static final int MOST_PER_RANK = 64;

    /** The ways of an allreduce between GPUs from node to node. */
    public enum AcrossNodes {
        /** NCCL over all ranks at once. */
        FLAT,
        /** NCCL inside a node; every rank's share of it goes through the host. */
        THROUGH_HOST,
        /** NCCL inside a node, and NCCL for every rank's share of it. */
        BY_NCCL
    }

    static GpuSettings from(SettingReader reader, List<String> notes) {
        return new GpuSettings(
                reader.flag(Setting.PIN_GPU),
                reader.between(Setting.GPUS_PER_RANK, 1, MOST_PER_RANK),
                reader.flag(Setting.SHARE_GPU),
                Math.toIntExact(Math.min(reader.atLeast(Setting.GPU_STAGE_BYTES, SMALLEST_STAGE), 1 << 30)),
                reader.atLeast(Setting.GPU_RESULT_BYTES, 0),
                reader.flag(Setting.ASYNC_COMPLETION),
                across(reader, notes));
    }

    GpuSettings withPerRank(int gpus) {
        return new GpuSettings(pin, gpus, share, stageBytes, resultBytes, asyncCompletion, across);
    }

    private static AcrossNodes across(SettingReader reader, List<String> notes) {
        boolean hierarchical = reader.flagIfSet(Setting.HIERARCHICAL_ALLREDUCE).orElse(false);
        boolean torus = reader.flag(Setting.TORUS_ALLREDUCE);
        if (hierarchical || torus) {
            Setting asked = torus ? Setting.TORUS_ALLREDUCE : Setting.HIERARCHICAL_ALLREDUCE;
            notes.add(asked.variable() + "=1 concerns allreduces between GPUs of several nodes by NCCL, and no others");
        }
        if (torus) {
            return AcrossNodes.BY_NCCL;
        }
        return hierarchical ? AcrossNodes.THROUGH_HOST : AcrossNodes.FLAT;
    }
}
