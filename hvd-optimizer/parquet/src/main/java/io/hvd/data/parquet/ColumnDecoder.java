package io.hvd.data.parquet;

import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ColumnReadStore;
import org.apache.parquet.column.ColumnReader;
import org.apache.parquet.column.impl.ColumnReadStoreImpl;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;
import org.apache.parquet.schema.Type.Repetition;

/** Makes arrays of the pages of columns, each with one value, or one list of floats, per row. */
final class ColumnDecoder {
    private final List<Type> columns;
    private final MessageType requested;
    private final String writer;

    ColumnDecoder(FileMetaData file, List<Type> columns) {
        this.columns = columns;
        requested = new MessageType(
                file.getSchema().getName(),
                columns.stream().filter(ColumnDecoder::isRead).toList());
        writer = file.getCreatedBy();
    }

    /** The columns whose pages are read. */
    MessageType requested() {
        return requested;
    }

    private static boolean isRead(Type column) {
        return column.isPrimitive() && !column.isRepetition(Repetition.REPEATED)
                ? column.asPrimitiveType().getPrimitiveTypeName() != PrimitiveTypeName.INT96
                : isListOfFloats(column);
    }

    /** In three levels, as the format's standard has it, or in the fewer ones of older writers. */
    private static boolean isListOfFloats(Type column) {
        Type level = column;
        int lists = 0;
        while (true) {
            lists += level.isRepetition(Repetition.REPEATED) ? 1 : 0;
            if (level.isPrimitive()) {
                return lists == 1 && level.asPrimitiveType().getPrimitiveTypeName() == PrimitiveTypeName.FLOAT;
            }
            if (level.asGroupType().getFieldCount() != 1) {
                return false;
            }
            level = level.asGroupType().getType(0);
        }
    }

    Map<String, ColumnValues> decode(PageReadStore pages, int rows) {
        ColumnReadStore readers = new ColumnReadStoreImpl(pages, new NoRecords(requested), requested, writer);
        Map<String, ColumnDescriptor> leaves = new LinkedHashMap<>();
        requested.getColumns().forEach(leaf -> leaves.put(leaf.getPath()[0], leaf));
        Map<String, ColumnValues> decoded = new LinkedHashMap<>();
        for (Type column : columns) {
            ColumnDescriptor leaf = leaves.get(column.getName());
            decoded.put(
                    column.getName(),
                    leaf == null
                            ? new ColumnValues(column, null, new BitSet())
                            : decode(column, leaf, readers.getColumnReader(leaf), rows));
        }
        return decoded;
    }

    private ColumnValues decode(Type column, ColumnDescriptor leaf, ColumnReader reader, int rows) {
        BitSet nulls = new BitSet();
        Object values = leaf.getMaxRepetitionLevel() == 0
                ? singles(leaf, reader, rows, nulls)
                : lists(column, leaf, reader, rows, nulls);
        return new ColumnValues(column, values, nulls);
    }

    private static Object singles(ColumnDescriptor leaf, ColumnReader reader, int rows, BitSet nulls) {
        switch (leaf.getPrimitiveType().getPrimitiveTypeName()) {
            case INT32 -> {
                int[] values = new int[rows];
                each(leaf, reader, rows, nulls, row -> values[row] = reader.getInteger());
                return values;
            }
            case INT64 -> {
                long[] values = new long[rows];
                each(leaf, reader, rows, nulls, row -> values[row] = reader.getLong());
                return values;
            }
            case FLOAT -> {
                float[] values = new float[rows];
                each(leaf, reader, rows, nulls, row -> values[row] = reader.getFloat());
                return values;
            }
            case DOUBLE -> {
                double[] values = new double[rows];
                each(leaf, reader, rows, nulls, row -> values[row] = reader.getDouble());
                return values;
            }
            case BOOLEAN -> {
                boolean[] values = new boolean[rows];
                each(leaf, reader, rows, nulls, row -> values[row] = reader.getBoolean());
                return values;
            }
            default -> {
                byte[][] values = new byte[rows][];
                each(
                        leaf,
                        reader,
                        rows,
                        nulls,
                        row -> values[row] = reader.getBinary().getBytes());
                return values;
            }
        }
    }

    private static void each(ColumnDescriptor leaf, ColumnReader reader, int rows, BitSet nulls, IntConsumer value) {
        for (int row = 0; row < rows; row++) {
            if (reader.getCurrentDefinitionLevel() == leaf.getMaxDefinitionLevel()) {
                value.accept(row);
            } else {
                nulls.set(row);
            }
            reader.consume();
        }
    }

    /**
     * A definition level below the highest one is that of a list that is null or empty, or of an element that is null; a list with such an
     * element counts as null, since an array of floats has no room for it.
     */
    private FloatLists lists(Type column, ColumnDescriptor leaf, ColumnReader reader, int rows, BitSet nulls) {
        boolean mayBeNull = column.isRepetition(Repetition.OPTIONAL);
        int elementIsThere = leaf.getMaxDefinitionLevel();
        int listHasElements = levelOfElements(column);
        float[] elements = new float[rows];
        int[] ends = new int[rows];
        int count = 0;
        for (int row = 0; row < rows; row++) {
            do {
                int level = reader.getCurrentDefinitionLevel();
                if (level == elementIsThere) {
                    if (count == elements.length) {
                        elements = Arrays.copyOf(elements, Math.max(16, Math.multiplyExact(count, 2)));
                    }
                    elements[count++] = reader.getFloat();
                } else if (level >= listHasElements || level == 0 && mayBeNull) {
                    nulls.set(row);
                }
                reader.consume();
            } while (reader.getCurrentRepetitionLevel() > 0);
            ends[row] = count;
        }
        return new FloatLists(Arrays.copyOf(elements, count), ends);
    }

    /** The definition level from which on a list has elements, null ones included. */
    private static int levelOfElements(Type column) {
        int level = 0;
        for (Type at = column; ; at = at.asGroupType().getType(0)) {
            level += at.isRepetition(Repetition.REQUIRED) ? 0 : 1;
            if (at.isRepetition(Repetition.REPEATED)) {
                return level;
            }
        }
    }
}
