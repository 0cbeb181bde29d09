package io.hvd.spark.columns;

import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import java.lang.reflect.Array;
import scala.collection.Iterator;
import scala.collection.Seq;

/** A column with an array of numbers in each row, of the same length in all rows. */
record Lists(DType dtype) implements ColumnKind {
    @Override
    public Elements decode(Object value) throws BadValueException {
        Seq<?> list = (Seq<?>) value;
        int length = list.length();
        Object array = Numbers.array(dtype, length);
        Iterator<?> elements = list.iterator();
        for (int i = 0; i < length; i++) {
            Object element = elements.next();
            if (element == null) {
                throw new BadValueException("has null as element " + i + " of " + length + ", expected " + dtype
                        + ": fill or drop such rows first");
            }
            Array.set(array, i, Numbers.element(element));
        }
        return new Elements(array, Shape.of(length));
    }
}
