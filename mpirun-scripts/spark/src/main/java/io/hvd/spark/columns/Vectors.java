package io.hvd.spark.columns;

import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.UserDefinedType;

/**
 * A column of vectors of Spark ML or of the older MLlib, dense or sparse. They are recognised and read by their form in SQL, so that
 * MLlib itself is not needed:
 *
 * <pre>
 * type: 0 for sparse, 1 for dense;  size and indices: of sparse ones alone;  values: doubles
 * </pre>
 */
record Vectors(UserDefinedType<?> type) implements ColumnKind {
    static final Fields FIELDS = new Fields(Map.of(
            "type",
            DataTypes.ByteType,
            "size",
            DataTypes.IntegerType,
            "indices",
            DataTypes.createArrayType(DataTypes.IntegerType),
            "values",
            DataTypes.createArrayType(DataTypes.DoubleType)));

    private static final byte SPARSE = 0;
    private static final byte DENSE = 1;

    @Override
    public DType dtype() {
        return DType.FLOAT64;
    }

    @Override
    public Elements decode(Object value) throws BadValueException {
        InternalRow fields = fields(type, value);
        double[] values = fields.getArray(3).toDoubleArray();
        byte form = fields.getByte(0);
        if (form == DENSE) {
            return new Elements(values, Shape.of(values.length));
        }
        if (form != SPARSE) {
            throw new BadValueException("is a vector of type " + form + ", expected 0 (sparse) or 1 (dense)");
        }
        return new Elements(
                spread(fields.getArray(2).toIntArray(), values, fields.getInt(1)), Shape.of(fields.getInt(1)));
    }

    @SuppressWarnings("unchecked")
    private static InternalRow fields(UserDefinedType<?> type, Object value) {
        return (InternalRow) ((UserDefinedType<Object>) type).serialize(value); // a value of this column
    }

    private static double[] spread(int[] indices, double[] values, int size) {
        double[] all = new double[size];
        for (int i = 0; i < indices.length; i++) {
            all[indices[i]] = values[i];
        }
        return all;
    }
}
