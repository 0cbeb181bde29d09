package io.hvd.tensor;

import java.util.Arrays;

/** The dimensions of a tensor, outermost first; a scalar has no dimension. */
public final class Shape {
    private static final Shape SCALAR = new Shape(new long[0]);

    private final long[] dims;
    private final long elements;

    private Shape(long[] dims) {
        long product = 1;
        for (long dim : dims) {
            if (dim < 0) {
                throw new IllegalArgumentException("shape " + Arrays.toString(dims) + " has a negative dimension");
            }
            product = Math.multiplyExact(product, dim);
        }
        this.dims = dims;
        this.elements = product;
    }

    /** A shape with these dimensions; without any, that of a scalar. */
    public static Shape of(long... dims) {
        return dims.length == 0 ? SCALAR : new Shape(dims.clone());
    }

    /** The shape of a single number, which has no dimensions. */
    public static Shape scalar() {
        return SCALAR;
    }

    /** The number of dimensions. */
    public int rank() {
        return dims.length;
    }

    /** The length of one dimension, counted from 0. */
    public long dim(int index) {
        return dims[index];
    }

    /** The product of all dimensions; 1 for a scalar. */
    public long elements() {
        return elements;
    }

    /** The dimensions, as a new array. */
    public long[] toArray() {
        return dims.clone();
    }

    /** This shape with another first dimension. */
    public Shape withFirst(long first) {
        long[] changed = dims.clone();
        changed[0] = first;
        return new Shape(changed);
    }

    /** The number of elements of one row, that is, the product of all dimensions but the first. */
    public long rowElements() {
        long product = 1;
        for (int i = 1; i < dims.length; i++) {
            product = Math.multiplyExact(product, dims[i]);
        }
        return product;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Shape shape && Arrays.equals(dims, shape.dims);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(dims);
    }

    @Override
    public String toString() {
        return Arrays.toString(dims);
    }
}
