package io.hvd.train.log;

/**
 * One value of a curve.
 *
 * @param seconds the time at which it was recorded, in seconds since 1970
 */
record Scalar(String tag, double value, long step, double seconds) {}
