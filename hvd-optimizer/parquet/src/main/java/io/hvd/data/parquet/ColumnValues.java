package io.hvd.data.parquet;

import java.util.BitSet;

/**
 * A block's values of one column.
 *
 * @param type as the schema has it
 * @param values an array with one value per row, {@link FloatLists}, or null for a type that is not read
 * @param nulls the rows without a value
 */
record ColumnValues(Object type, Object values, BitSet nulls) {
    boolean isNull(int row) {
        return nulls.get(row);
    }
}
