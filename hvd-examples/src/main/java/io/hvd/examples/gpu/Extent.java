package io.hvd.examples.gpu;

/**
 * The sizes that the checks use.
 *
 * @param sizes sizes of tensors in elements: one, an odd number, some, and many
 * @param rows numbers of rows for each rank, of tensors that are divided among the ranks
 * @param longFillBytes size of a fill that must still be under way when an allreduce is submitted
 * @param largestTensor number of elements of the one large tensor among those that the kernels pack
 * @param smallTensorBits the other tensors have fewer than 2 to the power of {@code smallTensorBits + 1} elements
 * @param dyingBytes size of the tensor in whose allreduce a rank dies
 */
record Extent(int[] sizes, int[] rows, int longFillBytes, int largestTensor, int smallTensorBits, long dyingBytes) {
    /** Sizes above one block on any GPU, up to 256 MiB. */
    static final Extent FULL =
            new Extent(new int[] {1, 7, 1000, 1_000_003}, new int[] {1, 333, 100_001}, 1 << 28, 1 << 24, 20, 1 << 24);

    /** Small sizes, to see whether everything works. */
    static final Extent QUICK =
            new Extent(new int[] {1, 7, 1000, 30_003}, new int[] {1, 333}, 1 << 22, 1 << 16, 10, 1 << 16);
}
