package io.hvd.engine;

/**
 * How an engine behaves; the same on every rank.
 *
 * @param fusionThresholdBytes most that a fused operation holds; 0 switches fusion off
 * @param cycleNanos how long an operation that nobody waits for may gather company
 * @param cacheCapacity requests that are remembered per process set; 0 for none
 * @param staticPlanSteps identical steps after which the ranks go on without negotiating; 0 for never
 * @param groupFusion whether the operations of a group travel as one whatever their size
 * @param strict whether the ranks must call the same collectives in the same order
 */
public record EngineSettings(
        long fusionThresholdBytes,
        long cycleNanos,
        int cacheCapacity,
        int staticPlanSteps,
        boolean groupFusion,
        boolean strict) {}
