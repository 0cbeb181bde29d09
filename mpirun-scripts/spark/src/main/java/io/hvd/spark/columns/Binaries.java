package io.hvd.spark.columns;

import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;

/** A column with bytes in each row, as many in all rows. */
record Binaries() implements ColumnKind {
    @Override
    public DType dtype() {
        return DType.UINT8;
    }

    @Override
    public Elements decode(Object value) {
        byte[] bytes = (byte[]) value;
        return new Elements(bytes, Shape.of(bytes.length));
    }
}
