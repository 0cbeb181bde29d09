package io.hvd;

import io.hvd.tensor.Tensor;

/**
 * What an alltoall brings to a rank.
 *
 * @param output the pieces received, in rank order, along the first dimension
 * @param receivedSplits number of rows from each rank
 */
public record AlltoallResult(Tensor output, int[] receivedSplits) {}
