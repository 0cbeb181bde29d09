/**
 * Small demonstrations, each of one thing: toy models, the sampler's epochs, ranks with different numbers of batches, a
 * hang that explains itself, Adasum, and evaluation on all ranks.
 */
package io.hvd.examples.demo;
