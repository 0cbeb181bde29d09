package io.hvd.examples.gpu;

/**
 * How much the checks move.
 *
 * @param sizes of tensors, in elements: one, odd, some, and many
 * @param rows of tensors that are dealt out among the ranks, for each rank
 * @param longFillBytes what a fill takes that is to be still under way when an allreduce is submitted
 * @param largestTensor elements of the one large tensor among the many that the kernels pack
 * @param smallTensorBits the others have fewer than 2 to the power of one more than this
 * @param longestCallBytes the largest tensor whose allreduce is timed
 */
record Extent(
        int[] sizes, int[] rows, int longFillBytes, int largestTensor, int smallTensorBits, long longestCallBytes) {
    /** More than one block's worth on any GPU, and up to 256 MiB. */
    static final Extent FULL =
            new Extent(new int[] {1, 7, 1000, 1_000_003}, new int[] {1, 333, 100_001}, 1 << 28, 1 << 24, 20, 1 << 28);

    /** For a look at whether everything works. */
    static final Extent QUICK =
            new Extent(new int[] {1, 7, 1000, 30_003}, new int[] {1, 333}, 1 << 22, 1 << 16, 10, 1 << 20);
}
