package io.hvd.benchmarks.cost;

/**
 * The cost of messages between two ranks.
 *
 * @param alphaSeconds cost of a message without its bytes
 * @param betaSecondsPerByte cost of each byte of a message
 */
public record Link(double alphaSeconds, double betaSecondsPerByte) {}
