package io.hvd.benchmarks.cost;

/**
 * One tensor that a step averages.
 *
 * @param readySeconds after the step has begun
 */
public record Gradient(long bytes, double readySeconds) {}
