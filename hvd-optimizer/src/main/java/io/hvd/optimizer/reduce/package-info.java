/**
 * How gradients become averages where a plain allreduce is not to do it: the interface for a compression of one's own, and
 * the compressions that hvd brings.
 */
package io.hvd.optimizer.reduce;
