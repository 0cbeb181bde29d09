package io.hvd.spark.columns;

import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;

/**
 * A column's place in each record.
 *
 * @param shape of the value of one row
 * @param offset bytes before it in a record
 */
record ColumnLayout(String name, DType dtype, Shape shape, int offset) {
    int elements() {
        return Math.toIntExact(shape.elements());
    }

    int bytes() {
        return Math.multiplyExact(elements(), dtype.bytes());
    }

    int end() {
        return Math.addExact(offset, bytes());
    }
}
