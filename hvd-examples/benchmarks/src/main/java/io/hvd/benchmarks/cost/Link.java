package io.hvd.benchmarks.cost;

/**
 * Two ranks that exchange something.
 *
 * @param alphaSeconds for a message, however short
 * @param betaSecondsPerByte for each of its bytes
 */
public record Link(double alphaSeconds, double betaSecondsPerByte) {}
