package io.hvd.benchmarks.cost;

/** One allreduce that was measured. */
public record Sample(Algorithm algorithm, JobShape shape, long bytes, double seconds) {}
