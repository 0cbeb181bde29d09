package io.hvd.spark;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The column that {@link HvdSpark#predict} adds to a DataFrame.
 *
 * <pre>{@code
 * OutputColumn.ofFloats("scores").from("pixels").withBatchRows(256)
 * }</pre>
 *
 * @param name of the new column
 * @param type of the new column
 * @param inputs the columns that the model reads
 * @param batchRows rows that the model computes at once; the last batch of a partition may have fewer
 * @param <A> what a model returns: an array with one element per row
 */
public record OutputColumn<A>(String name, DataType type, List<String> inputs, int batchRows) implements Serializable {
    private static final int BATCH_ROWS = 64;

    /** @throws IllegalArgumentException if a batch has no rows */
    public OutputColumn {
        inputs = List.copyOf(inputs);
        if (batchRows < 1) {
            throw new IllegalArgumentException("batchRows is " + batchRows + ", expected 1 or more");
        }
    }

    private OutputColumn(String name, DataType type) {
        this(name, type, List.of(), BATCH_ROWS);
    }

    /** A number of type double for each row. */
    public static OutputColumn<double[]> ofDouble(String name) {
        return new OutputColumn<>(name, DataTypes.DoubleType);
    }

    /** A number of type float for each row. */
    public static OutputColumn<float[]> ofFloat(String name) {
        return new OutputColumn<>(name, DataTypes.FloatType);
    }

    /** A number of type int for each row, such as a class. */
    public static OutputColumn<int[]> ofInt(String name) {
        return new OutputColumn<>(name, DataTypes.IntegerType);
    }

    /** An array of floats for each row, such as the scores of classes. */
    public static OutputColumn<float[][]> ofFloats(String name) {
        return new OutputColumn<>(name, DataTypes.createArrayType(DataTypes.FloatType, false));
    }

    /** An array of doubles for each row. */
    public static OutputColumn<double[][]> ofDoubles(String name) {
        return new OutputColumn<>(name, DataTypes.createArrayType(DataTypes.DoubleType, false));
    }

    /** This column, computed from those. */
    public OutputColumn<A> from(String... columns) {
        return new OutputColumn<>(name, type, List.of(columns), batchRows);
    }

    /** This column, computed for so many rows at once. */
    public OutputColumn<A> withBatchRows(int rows) {
        return new OutputColumn<>(name, type, inputs, rows);
    }
}
