package io.hvd.spark.columns;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Some rows of a DataFrame as one array for each column, which the batch owns. The values of one row stand together: the array of a
 * column whose values have the shape [3, 28, 28] has the shape [rows, 3, 28, 28].
 *
 * <table>
 * <caption>Columns of Spark and what becomes of them</caption>
 * <tr><th>column</th><th>elements</th><th>shape of a value</th></tr>
 * <tr><td>byte, short, int, long, float, double</td><td>the same</td><td>[]</td></tr>
 * <tr><td>boolean</td><td>bool</td><td>[]</td></tr>
 * <tr><td>array of these</td><td>the same</td><td>[length]</td></tr>
 * <tr><td>binary</td><td>uint8</td><td>[length]</td></tr>
 * <tr><td>vector of Spark ML, dense or sparse</td><td>float64</td><td>[size]</td></tr>
 * <tr><td>image of Spark's data source</td><td>uint8</td><td>[channels, height, width], red first</td></tr>
 * </table>
 *
 * <p>All methods that take the name of a column throw an {@link HvdException} with {@link ErrorId#BAD_ARGUMENT} if there is none.
 */
public final class ColumnBatch {
    /** @param array with the elements of all rows */
    record Values(ColumnLayout layout, Object array) {
        Shape shape(int rows) {
            long[] one = layout.shape().toArray();
            long[] all = new long[one.length + 1];
            all[0] = rows;
            System.arraycopy(one, 0, all, 1, one.length);
            return Shape.of(all);
        }
    }

    private final int rows;
    private final Map<String, Values> columns;

    ColumnBatch(int rows, Map<String, Values> columns) {
        this.rows = rows;
        this.columns = columns;
    }

    /** The rows of these batches in one; for a loader's {@code collate}. */
    public static ColumnBatch of(List<ColumnBatch> parts) {
        int rows = parts.stream().mapToInt(ColumnBatch::rows).sum();
        Map<String, Values> all = new LinkedHashMap<>();
        parts.get(0).columns.forEach((name, first) -> all.put(name, joined(name, first.layout, parts, rows)));
        return new ColumnBatch(rows, all);
    }

    private static Values joined(String name, ColumnLayout layout, List<ColumnBatch> parts, int rows) {
        Object array = Numbers.array(layout.dtype(), Math.multiplyExact(layout.elements(), rows));
        int at = 0;
        for (ColumnBatch part : parts) {
            Object one = part.values(name).array;
            System.arraycopy(one, 0, array, at, Array.getLength(one));
            at += Array.getLength(one);
        }
        return new Values(layout, array);
    }

    /** The number of rows. */
    public int rows() {
        return rows;
    }

    /** The names of the columns. */
    public List<String> columns() {
        return new ArrayList<>(columns.keySet());
    }

    /** The values of a column as a tensor of its own type over the batch's array, of the shape [rows, ...]. */
    public Tensor tensor(String column) {
        Values values = values(column);
        return Tensor.wrap(values.array, values.layout.dtype(), values.shape(rows));
    }

    /** The values of a column, row by row, as floats: the batch's own array if they are floats, and otherwise converted. Bytes of images go from 0 to 255. */
    public float[] floats(String column) {
        Values values = values(column);
        if (values.array instanceof float[] floats) {
            return floats;
        }
        float[] converted = new float[Array.getLength(values.array)];
        if (values.array instanceof byte[] bytes && values.layout.dtype() == DType.UINT8) {
            for (int i = 0; i < converted.length; i++) {
                converted[i] = Byte.toUnsignedInt(bytes[i]);
            }
        } else if (values.array instanceof double[] doubles) {
            for (int i = 0; i < converted.length; i++) {
                converted[i] = (float) doubles[i];
            }
        } else {
            for (int i = 0; i < converted.length; i++) {
                converted[i] = Array.getFloat(values.array, i);
            }
        }
        return converted;
    }

    /**
     * The values of a column of whole numbers or booleans, row by row, such as LibTorch's labels.
     *
     * @throws HvdException if it has other elements
     */
    public long[] longs(String column) {
        Values values = values(column);
        DType dtype = values.layout.dtype();
        if (dtype.isFloating()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "column \"" + column + "\" has elements of " + dtype + ", expected whole numbers or booleans");
        }
        if (values.array instanceof long[] longs) {
            return longs;
        }
        long[] converted = new long[Array.getLength(values.array)];
        for (int i = 0; i < converted.length; i++) {
            long one = Array.getLong(values.array, i);
            converted[i] = dtype == DType.UINT8 ? one & 0xff : one;
        }
        return converted;
    }

    /**
     * The same as {@code int}, such as the indices of classes.
     *
     * @throws HvdException if the column has other elements than whole numbers or booleans
     * @throws ArithmeticException if a number does not fit
     */
    public int[] ints(String column) {
        if (values(column).array instanceof int[] ints) {
            return ints;
        }
        long[] longs = longs(column);
        int[] converted = new int[longs.length];
        for (int i = 0; i < converted.length; i++) {
            converted[i] = Math.toIntExact(longs[i]);
        }
        return converted;
    }

    private Values values(String column) {
        Values found = columns.get(column);
        if (found == null) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "no column \"" + column + "\" was read, expected one of " + columns());
        }
        return found;
    }
}
