package io.hvd.engine.tuning;

/**
 * What autotuning has measured over some steps in a row under the same settings.
 *
 * @param bytesPerMicro the median of the steps' bytes in each microsecond, which is the score
 * @param stepMicros the median of the steps' times
 * @param bytes the median of the bytes that a step reduces
 * @param inPlan whether the ranks followed a static plan
 */
record StepSample(double bytesPerMicro, double stepMicros, double bytes, boolean inPlan) {}
