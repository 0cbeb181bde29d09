package io.hvd.spark.columns;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Shape;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.Row;

/** Makes records of a partition's rows. The first row says how long each column's values are; all others have to be as long. One thread's. */
public final class RowEncoder {
    private static final int MOST_WORDS = 60;

    private final List<Column> columns;
    private final int partition;
    /** Null before the first row. */
    private RowLayout layout;

    private long rows;

    /** @param partition for messages */
    public RowEncoder(ReadColumns columns, int partition) {
        this.columns = columns.all();
        this.partition = partition;
    }

    /** How the records are laid out; empty before the first row. */
    public Optional<RowLayout> layout() {
        return Optional.ofNullable(layout);
    }

    /**
     * The record of the next row, in a buffer of its own, from position 0 on.
     *
     * @throws HvdException with {@link ErrorId#BAD_DATA_SET} for a value that is null, or of another length than in the first
     *     row; it names column, row, partition and value
     */
    public ByteBuffer encode(Row row) {
        List<Elements> values = new ArrayList<>(columns.size());
        for (Column column : columns) {
            values.add(decode(column, row));
        }
        if (layout == null) {
            layout = RowLayout.of(columns, values.stream().map(Elements::shape).toList());
        }
        requireShapes(row, values);
        ByteBuffer record = ByteBuffer.allocate(layout.bytes()).order(ByteOrder.nativeOrder());
        values.forEach(value -> ArrayBytes.put(value.array(), record));
        rows++;
        return record.flip();
    }

    private Elements decode(Column column, Row row) {
        Object value = row.get(column.index());
        if (value == null) {
            throw bad(column, "is null, expected a value in every row: fill such rows (na().fill) or drop them");
        }
        try {
            return column.kind().decode(value);
        } catch (BadValueException e) {
            throw bad(column, e.getMessage());
        }
    }

    private void requireShapes(Row row, List<Elements> values) {
        List<Shape> expected = layout.shapes();
        for (int i = 0; i < expected.size(); i++) {
            Shape found = values.get(i).shape();
            if (!found.equals(expected.get(i))) {
                Column column = columns.get(i);
                throw bad(
                        column,
                        "has the shape " + found + ", expected " + expected.get(i) + " as in the partition's first row;"
                                + " it is " + words(row.get(column.index())));
            }
        }
    }

    private HvdException bad(Column column, String words) {
        return new HvdException(
                ErrorId.BAD_DATA_SET,
                "column \"" + column.name() + "\" of row " + rows + " of partition " + partition + " " + words);
    }

    private static String words(Object value) {
        String words = value.toString();
        return words.length() <= MOST_WORDS ? words : words.substring(0, MOST_WORDS) + "...";
    }
}
