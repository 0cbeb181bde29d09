package io.hvd.spark.columns;

import io.hvd.tensor.Shape;

/**
 * The elements of one value.
 *
 * @param array of the type that the column's elements have on the heap
 */
record Elements(Object array, Shape shape) {}
