package io.hvd.spark.columns;

import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import java.lang.reflect.Array;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** A column with one number, or one boolean, in each row. */
record Numbers(DType dtype) implements ColumnKind {
    static final Map<DataType, DType> TYPES = Map.of(
            DataTypes.BooleanType, DType.BOOL,
            DataTypes.ByteType, DType.INT8,
            DataTypes.ShortType, DType.INT16,
            DataTypes.IntegerType, DType.INT32,
            DataTypes.LongType, DType.INT64,
            DataTypes.FloatType, DType.FLOAT32,
            DataTypes.DoubleType, DType.FLOAT64);

    @Override
    public Elements decode(Object value) {
        Object one = array(dtype, 1);
        Array.set(one, 0, element(value));
        return new Elements(one, Shape.scalar());
    }

    static Object array(DType dtype, int length) {
        return Array.newInstance(dtype.arrayType().getComponentType(), length);
    }

    /** A number as it stands in an array; booleans are bytes there. */
    static Object element(Object value) {
        return value instanceof Boolean truth ? (Object) (byte) (truth ? 1 : 0) : value;
    }
}
