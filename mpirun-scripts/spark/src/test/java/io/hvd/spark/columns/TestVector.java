package io.hvd.spark.columns;

import org.apache.spark.sql.types.SQLUserDefinedType;

/**
 * A vector as Spark ML has them, for which its MLlib would be needed.
 *
 * @param indices null of a dense one
 */
@SQLUserDefinedType(udt = TestVectorType.class)
public record TestVector(int size, int[] indices, double[] values) {
    public static TestVector dense(double... values) {
        return new TestVector(values.length, null, values);
    }
}
