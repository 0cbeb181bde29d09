package io.hvd.data.parquet;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.file.Path;
import java.util.Map;

/**
 * Decoded rows of one row group.
 *
 * @param firstRow its place in the file, for messages
 */
record RowBlock(Path file, long firstRow, Map<String, ColumnValues> columns) {
    ColumnValues column(String name) {
        ColumnValues values = columns.get(name);
        if (values == null) {
            throw mismatch(name, "is not there, expected one of " + columns.keySet());
        }
        return values;
    }

    HvdException mismatch(String column, String fact) {
        return new HvdException(ErrorId.BAD_DATA_SET, file + ": the column \"" + column + "\" " + fact);
    }
}
