package io.hvd.benchmarks.cost;

/**
 * One tensor that a step averages.
 *
 * @param readySeconds time from the beginning of the step until the gradient is ready
 */
public record Gradient(long bytes, double readySeconds) {}
