package io.hvd.data.parquet;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.BitSet;
import java.util.function.IntToLongFunction;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BaseIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FixedSizeBinaryVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.VariableWidthFieldVector;
import org.apache.arrow.vector.complex.BaseListVector;
import org.apache.arrow.vector.complex.LargeListVector;
import org.apache.arrow.vector.dictionary.DictionaryEncoder;
import org.apache.arrow.vector.dictionary.DictionaryProvider;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.DictionaryEncoding;

/** Makes arrays of the vectors of a record batch, each with one value, or one list of floats, per row. */
final class ArrowColumns {
    private ArrowColumns() {}

    /** @param type in words, of the values that a dictionary has too */
    static ColumnValues decode(String type, ValueVector vector, DictionaryProvider dictionaries, int rows) {
        DictionaryEncoding encoding = vector.getField().getDictionary();
        if (encoding == null) {
            return decode(type, vector, rows);
        }
        try (ValueVector values = DictionaryEncoder.decode(vector, dictionaries.lookup(encoding.getId()))) {
            return decode(type, values, rows);
        }
    }

    private static ColumnValues decode(String type, ValueVector vector, int rows) {
        BitSet nulls = nulls(vector, rows);
        return new ColumnValues(type, values(vector, rows, nulls), nulls);
    }

    /** Counting them reads the whole validity buffer. */
    private static BitSet nulls(ValueVector vector, int count) {
        BitSet nulls = new BitSet();
        if (vector.getNullCount() > 0) {
            for (int i = 0; i < count; i++) {
                nulls.set(i, vector.isNull(i));
            }
        }
        return nulls;
    }

    private static Object values(ValueVector vector, int rows, BitSet nulls) {
        if (vector instanceof BaseIntVector integers) {
            ArrowType.Int type = (ArrowType.Int) vector.getField().getType();
            boolean fits = type.getBitWidth() < 32 || type.getBitWidth() == 32 && type.getIsSigned();
            return fits ? ints(integers::getValueAsLong, rows) : longs(integers::getValueAsLong, rows);
        } else if (vector instanceof Float4Vector) {
            float[] values = new float[rows];
            floats(vector, rows).get(values);
            return values;
        } else if (vector instanceof Float8Vector) {
            double[] values = new double[rows];
            bytes(vector, (long) rows * Double.BYTES).asDoubleBuffer().get(values);
            return values;
        } else if (vector instanceof BitVector bits) {
            boolean[] values = new boolean[rows];
            for (int row = 0; row < rows; row++) {
                values[row] = !nulls.get(row) && bits.get(row) == 1;
            }
            return values;
        }
        return othersOf(vector, rows, nulls);
    }

    private static Object othersOf(ValueVector vector, int rows, BitSet nulls) {
        if (vector instanceof VariableWidthFieldVector || vector instanceof FixedSizeBinaryVector) {
            byte[][] values = new byte[rows][];
            for (int row = nulls.nextClearBit(0); row < rows; row = nulls.nextClearBit(row + 1)) {
                values[row] = vector instanceof FixedSizeBinaryVector fixed
                        ? fixed.get(row)
                        : ((VariableWidthFieldVector) vector).get(row);
            }
            return values;
        } else if (vector instanceof BaseListVector list && child(list) instanceof Float4Vector floats) {
            return lists(list::getElementStartIndex, list::getElementEndIndex, floats, rows, nulls);
        } else if (vector instanceof LargeListVector list && list.getDataVector() instanceof Float4Vector floats) {
            return lists(list::getElementStartIndex, list::getElementEndIndex, floats, rows, nulls);
        }
        return vector instanceof BaseFixedWidthVector fixed ? times(fixed, rows) : null;
    }

    private static ValueVector child(BaseListVector list) {
        return list.getChildrenFromFields().get(0);
    }

    private static int[] ints(IntToLongFunction value, int rows) {
        int[] values = new int[rows];
        for (int row = 0; row < rows; row++) {
            values[row] = (int) value.applyAsLong(row);
        }
        return values;
    }

    private static long[] longs(IntToLongFunction value, int rows) {
        long[] values = new long[rows];
        for (int row = 0; row < rows; row++) {
            values[row] = value.applyAsLong(row);
        }
        return values;
    }

    /** Days, times of a day, moments and durations are counted in whole units. */
    private static Object times(BaseFixedWidthVector vector, int rows) {
        switch (vector.getField().getType().getTypeID()) {
            case Date, Time, Timestamp, Duration -> {
                ByteBuffer buffer = bytes(vector, (long) rows * vector.getTypeWidth());
                return vector.getTypeWidth() == Integer.BYTES
                        ? ints(row -> buffer.getInt(row * Integer.BYTES), rows)
                        : longs(row -> buffer.getLong(row * Long.BYTES), rows);
            }
            default -> {
                return null;
            }
        }
    }

    private static ByteBuffer bytes(ValueVector vector, long length) {
        return vector.getDataBuffer().nioBuffer(0, Math.toIntExact(length)).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static FloatBuffer floats(ValueVector vector, int count) {
        return bytes(vector, (long) count * Float.BYTES).asFloatBuffer();
    }

    /** A list with an element that is null counts as null, since an array of floats has no room for it. */
    private static FloatLists lists(
            IntToLongFunction begin, IntToLongFunction end, Float4Vector child, int rows, BitSet nulls) {
        BitSet nullElements = nulls(child, child.getValueCount());
        int[] ends = new int[rows];
        int before = 0;
        for (int row = 0; row < rows; row++) {
            int first = Math.toIntExact(begin.applyAsLong(row));
            int last = Math.toIntExact(end.applyAsLong(row));
            int firstNull = nullElements.nextSetBit(first);
            nulls.set(row, nulls.get(row) || firstNull >= 0 && firstNull < last);
            before = nulls.get(row) ? before : Math.addExact(before, last - first);
            ends[row] = before;
        }
        FloatLists lists = new FloatLists(new float[before], ends);
        FloatBuffer elements = floats(child, child.getValueCount());
        for (int row = 0; row < rows; row++) {
            int length = lists.end(row) - lists.begin(row);
            elements.get(
                    (int) (nulls.get(row) ? 0 : begin.applyAsLong(row)), lists.elements(), lists.begin(row), length);
        }
        return lists;
    }
}
