/** What a training loop counts and watches: steps of the ranks, passes before a step, pauses. It knows no callback. */
package io.hvd.train.loop;
