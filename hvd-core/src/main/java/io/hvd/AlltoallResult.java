package io.hvd;

import io.hvd.tensor.Tensor;

/**
 * The rows that an alltoall gives to a rank.
 *
 * @param output the rows received from all ranks, in rank order, concatenated along the first dimension
 * @param receivedSplits the number of rows received from each rank, in rank order
 */
public record AlltoallResult(Tensor output, int[] receivedSplits) {}
