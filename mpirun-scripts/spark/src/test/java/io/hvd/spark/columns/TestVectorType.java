package io.hvd.spark.columns;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;

/** The form in SQL of {@code org.apache.spark.ml.linalg.VectorUDT}. */
public final class TestVectorType extends UserDefinedType<TestVector> {
    private static final long serialVersionUID = 1L;

    @Override
    public DataType sqlType() {
        return new StructType()
                .add("type", DataTypes.ByteType, false)
                .add("size", DataTypes.IntegerType, true)
                .add("indices", DataTypes.createArrayType(DataTypes.IntegerType, false), true)
                .add("values", DataTypes.createArrayType(DataTypes.DoubleType, false), true);
    }

    @Override
    public Object serialize(TestVector vector) {
        boolean dense = vector.indices() == null;
        return new GenericInternalRow(new Object[] {
            (byte) (dense ? 1 : 0),
            dense ? null : vector.size(),
            dense ? null : UnsafeArrayData.fromPrimitiveArray(vector.indices()),
            UnsafeArrayData.fromPrimitiveArray(vector.values())
        });
    }

    @Override
    public TestVector deserialize(Object datum) {
        InternalRow row = (InternalRow) datum;
        double[] values = row.getArray(3).toDoubleArray();
        return row.getByte(0) == 1
                ? TestVector.dense(values)
                : new TestVector(row.getInt(1), row.getArray(2).toIntArray(), values);
    }

    @Override
    public Class<TestVector> userClass() {
        return TestVector.class;
    }
}
