package io.hvd.config;

/**
 * The settings by which operations are agreed on and put together.
 *
 * @param fusionThresholdBytes most that a fused operation holds; 0 switches fusion off
 * @param groupFusion whether the operations of a group travel as one whatever their size
 * @param cycleNanos nanoseconds for which an operation may be held back if no thread waits for it
 * @param cacheCapacity names remembered; 0 switches the cache off
 * @param staticPlanSteps identical steps before a static plan; 0 for never
 * @param dynamicProcessSets whether process sets may come and go while the job runs
 * @param strict whether the ranks must call the same collectives in the same order
 * @param bucketBytes bytes at which optimizers close a group of gradients; 0 leaves it to each of them
 * @param levels 2 if allreduces of all ranks add inside each host first, 1 if they do not, 0 where there is no choice
 */
public record EngineSettings(
        long fusionThresholdBytes,
        boolean groupFusion,
        long cycleNanos,
        int cacheCapacity,
        int staticPlanSteps,
        boolean dynamicProcessSets,
        boolean strict,
        long bucketBytes,
        int levels) {
    private static final int LONGEST_CYCLE_MILLIS = 1_000_000;
    private static final int MOST_NAMES = 1 << 20;
    /** Each rank of a host gets a multiple of 64 elements, the largest of which have 8 bytes. */
    private static final long BYTES_PER_LOCAL_RANK = 8 * 64;

    static EngineSettings from(SettingReader reader) {
        double cycleMillis = reader.between(Setting.CYCLE_TIME, 0.0, LONGEST_CYCLE_MILLIS, " of milliseconds");
        return new EngineSettings(
                reader.atLeast(Setting.FUSION_THRESHOLD, 0),
                !reader.flag(Setting.DISABLE_GROUP_FUSION),
                Math.round(cycleMillis * 1e6),
                reader.between(Setting.CACHE_CAPACITY, 0, MOST_NAMES),
                reader.between(Setting.STATIC_PLAN_STEPS, 0, Integer.MAX_VALUE),
                reader.flag(Setting.DYNAMIC_PROCESS_SETS),
                reader.flag(Setting.STRICT),
                reader.atLeast(Setting.BUCKET_BYTES, 0),
                reader.flagIfSet(Setting.HIERARCHICAL_ALLREDUCE).orElse(true) ? 2 : 1);
    }

    /**
     * These settings with a fusion threshold for hosts that all have {@code localSize} ranks; see {@link #roundedUp}.
     */
    public EngineSettings forRanksPerHost(int localSize) {
        return with(roundedUp(fusionThresholdBytes, localSize), cycleNanos, bucketBytes, levels);
    }

    /** These settings for ranks between which allreduces can only go one way. */
    public EngineSettings withoutChoiceOfLevels() {
        return with(fusionThresholdBytes, cycleNanos, bucketBytes, 0);
    }

    /** These settings with others that are tuned. */
    public EngineSettings with(long otherThresholdBytes, long otherCycleNanos, long otherBucketBytes, int otherLevels) {
        return new EngineSettings(
                otherThresholdBytes,
                groupFusion,
                otherCycleNanos,
                cacheCapacity,
                staticPlanSteps,
                dynamicProcessSets,
                strict,
                otherBucketBytes,
                otherLevels);
    }

    /**
     * A fusion threshold that every host can cut into equal, aligned shares for its ranks: the next
     * multiple of the local size times 8 times 64 bytes. 0, which means no fusion, stays 0.
     */
    public static long roundedUp(long bytes, int localSize) {
        long unit = localSize * BYTES_PER_LOCAL_RANK;
        long over = bytes % unit;
        return over == 0 || bytes > Long.MAX_VALUE - unit ? bytes : bytes + unit - over;
    }
}
