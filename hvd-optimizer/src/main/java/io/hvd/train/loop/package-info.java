/** Counters and watches of a training loop: steps of the ranks, passes before a step, pauses. It knows no callback. */
package io.hvd.train.loop;
