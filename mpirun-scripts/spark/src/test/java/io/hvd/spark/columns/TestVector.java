package io.hvd.spark.columns;

import java.io.Serializable;
import org.apache.spark.sql.types.SQLUserDefinedType;

/** A vector as Spark ML has them, for which its MLlib would be needed. No record, since Kryo takes none. */
@SQLUserDefinedType(udt = TestVectorType.class)
public final class TestVector implements Serializable {
    private static final long serialVersionUID = 1L;

    private final int size;
    private final int[] indices;
    private final double[] values;

    /** @param indices null of a dense one */
    public TestVector(int size, int[] indices, double[] values) {
        this.size = size;
        this.indices = indices;
        this.values = values;
    }

    public static TestVector dense(double... values) {
        return new TestVector(values.length, null, values);
    }

    int size() {
        return size;
    }

    int[] indices() {
        return indices;
    }

    double[] values() {
        return values;
    }
}
