package io.hvd.data;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * Samples that can be read by index, in any order.
 *
 * <p>The workers of a {@link DataLoader} call {@link #get} at the same time, and ranks that are threads share one data
 * set: an implementation must allow it.
 *
 * @param <T> a sample
 */
public interface Dataset<T> {

    /** The number of samples; it does not change while the data set is in use. */
    int size();

    /**
     * Reads one sample; called on a worker thread of the loader, or on the caller's thread where the loader has none.
     *
     * @param index 0..size-1
     * @throws Exception whatever reading may throw; the loader reports it with the index of the sample
     */
    T get(int index) throws Exception;

    /** The elements of the list, which is copied. */
    static <T> Dataset<T> of(List<T> samples) {
        return new ListDataset<>(List.copyOf(samples));
    }

    /**
     * The samples at these indices, in this order; an index may occur more than once.
     *
     * @throws IndexOutOfBoundsException if an index is not one of this data set
     */
    default Dataset<T> subset(int... indices) {
        for (int index : indices) {
            Objects.checkIndex(index, size());
        }
        return new SubsetDataset<>(this, indices.clone());
    }

    /**
     * Deals the samples out to two data sets, at random but the same for every rank and every run with this seed.
     *
     * @param fraction the part of the first, 0..1; its size is {@code round(size * fraction)}
     * @throws IllegalArgumentException if the fraction is outside 0..1
     */
    default Split<T> split(double fraction, long seed) {
        if (!(fraction >= 0 && fraction <= 1)) {
            throw new IllegalArgumentException("fraction must be in [0, 1], found " + fraction);
        }
        int[] order = Permutation.of(size(), seed);
        int cut = (int) Math.round(size() * fraction);
        return new Split<>(subset(Arrays.copyOf(order, cut)), subset(Arrays.copyOfRange(order, cut, order.length)));
    }

    /** Two data sets without a common sample. */
    record Split<T>(Dataset<T> first, Dataset<T> second) {}
}
