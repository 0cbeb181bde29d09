/**
 * Rank 0's decisions as pure functions: what is ready on all ranks, what does not fit together, and what travels
 * together. No thread, no channel, no clock.
 */
package io.hvd.engine.coordination;
