/**
 * Which samples a rank sees, in which order, and how they become batches.
 *
 * <p>A {@link io.hvd.data.Sampler} says which indices of a {@link io.hvd.data.Dataset} belong to this rank; a {@link
 * io.hvd.data.DataLoader} reads them ahead of the training loop and hands them over as batches. Nothing here
 * communicates: every rank works out its own share from the size of the data set, the number of replicas, its rank and
 * the seed.
 */
package io.hvd.data;
