package io.hvd.spark.columns;

import io.hvd.tensor.Shape;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The columns of a record, one after the other without gaps, in the order of this machine. */
public final class RowLayout {
    private final Map<String, ColumnLayout> columns;
    private final int bytes;

    private RowLayout(Map<String, ColumnLayout> columns, int bytes) {
        this.columns = columns;
        this.bytes = bytes;
    }

    /** @param shapes of each column's values */
    static RowLayout of(List<Column> columns, List<Shape> shapes) {
        Map<String, ColumnLayout> placed = new LinkedHashMap<>();
        int offset = 0;
        for (int i = 0; i < columns.size(); i++) {
            Column column = columns.get(i);
            ColumnLayout layout = new ColumnLayout(column.name(), column.kind().dtype(), shapes.get(i), offset);
            placed.put(column.name(), layout);
            offset = layout.end();
        }
        return new RowLayout(placed, offset);
    }

    Map<String, ColumnLayout> columns() {
        return columns;
    }

    /** Bytes of a record. */
    int bytes() {
        return bytes;
    }

    /** The batch of these records, which it copies. */
    public ColumnBatch batch(List<ByteBuffer> records) {
        Map<String, ColumnBatch.Values> values = new LinkedHashMap<>();
        columns.forEach((name, layout) -> values.put(name, new ColumnBatch.Values(layout, array(layout, records))));
        return new ColumnBatch(records.size(), values);
    }

    private static Object array(ColumnLayout layout, List<ByteBuffer> records) {
        int elements = layout.elements();
        Object array = Numbers.array(layout.dtype(), Math.multiplyExact(elements, records.size()));
        int at = 0;
        for (ByteBuffer record : records) {
            ByteBuffer own = record.slice(layout.offset(), layout.bytes()).order(record.order());
            ArrayBytes.get(own, array, at, elements);
            at += elements;
        }
        return array;
    }

    /** The shapes of the columns' values, in their order. */
    public List<Shape> shapes() {
        List<Shape> shapes = new ArrayList<>();
        columns.values().forEach(column -> shapes.add(column.shape()));
        return shapes;
    }
}
