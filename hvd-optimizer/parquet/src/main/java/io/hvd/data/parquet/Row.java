package io.hvd.data.parquet;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * One row of a {@link RowDataset}. Columns are asked for by their names, in their own types: nothing is converted. As long as a row is
 * referred to, its block stays in memory.
 *
 * <p>All methods throw an {@code HvdException} with {@code ErrorId.BAD_DATA_SET} if there is no such column, it is of another
 * type, or, except for {@link #isNull}, the row has no value in it.
 */
public final class Row {
    private final RowBlock block;
    private final int place;

    Row(RowBlock block, int place) {
        this.block = block;
        this.place = place;
    }

    /** Whether the row has no value in the column. */
    public boolean isNull(String column) {
        return block.column(column).isNull(place);
    }

    /** A value of an INT32 column. */
    public int getInt(String column) {
        return values(column, int[].class, "INT32")[place];
    }

    /** A value of an INT64 column. */
    public long getLong(String column) {
        return values(column, long[].class, "INT64")[place];
    }

    /** A value of a FLOAT column. */
    public float getFloat(String column) {
        return values(column, float[].class, "FLOAT")[place];
    }

    /** A value of a DOUBLE column. */
    public double getDouble(String column) {
        return values(column, double[].class, "DOUBLE")[place];
    }

    /** A value of a BOOLEAN column. */
    public boolean getBoolean(String column) {
        return values(column, boolean[].class, "BOOLEAN")[place];
    }

    /** A value of a BINARY column, taken for UTF-8. */
    public String getString(String column) {
        return new String(values(column, byte[][].class, "BINARY")[place], StandardCharsets.UTF_8);
    }

    /** A value of a BINARY or FIXED_LEN_BYTE_ARRAY column, in an array of the caller's own. */
    public byte[] getBinary(String column) {
        return values(column, byte[][].class, "BINARY")[place].clone();
    }

    /** A value of a column of lists of FLOAT, such as a vector, in an array of the caller's own; empty lists have no elements. */
    public float[] floats(String column) {
        FloatLists lists = values(column, FloatLists.class, "a list of FLOAT");
        return Arrays.copyOfRange(lists.elements(), lists.begin(place), lists.end(place));
    }

    private <A> A values(String column, Class<A> kind, String expected) {
        ColumnValues found = block.column(column);
        if (!kind.isInstance(found.values())) {
            throw block.mismatch(column, "is \"" + found.type() + "\", expected " + expected);
        }
        if (found.isNull(place)) {
            throw block.mismatch(column, "is null in row " + (block.firstRow() + place) + ", expected " + expected);
        }
        return kind.cast(found.values());
    }
}
