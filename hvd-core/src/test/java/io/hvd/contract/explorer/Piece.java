package io.hvd.contract.explorer;

import io.hvd.contract.program.Elements;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.function.IntToLongFunction;

/** A tensor over memory of one of the kinds that users have, with something around it that nobody may touch. */
final class Piece {
    /** Kinds of memory. */
    static final int KINDS = 4;

    private static final int MARGIN = 3;
    private static final long MARK = 0x55;

    private final Tensor tensor;
    private final Object array;
    private final IntToLongFunction bits;

    private Piece(Tensor tensor, Object array, IntToLongFunction bits) {
        this.tensor = tensor;
        this.array = array;
        this.bits = bits;
    }

    /** @param kind a whole array, a part of one, a direct buffer, or two of them */
    static Piece of(DType type, Shape shape, int kind, IntToLongFunction given) {
        IntToLongFunction bits = i -> Elements.cut(type, given.applyAsLong(i));
        int count = Math.toIntExact(shape.elements());
        return switch (kind) {
            case 0 -> {
                Object array = Elements.array(type, count);
                Elements.fill(type, array, 0, count, bits);
                yield new Piece(Tensor.wrap(array, type, shape), null, bits);
            }
            case 1 -> {
                Object array = Elements.array(type, count + 2 * MARGIN);
                Elements.fill(type, array, 0, count + 2 * MARGIN, i -> MARK);
                Elements.fill(type, array, MARGIN, count, bits);
                yield new Piece(Tensor.wrap(array, MARGIN, count, type, shape), array, bits);
            }
            case 2 -> new Piece(Tensor.wrap(direct(type, 0, count, bits), type, shape), null, bits);
            default -> {
                int first = count / 3;
                List<ByteBuffer> parts =
                        List.of(direct(type, 0, first, bits), direct(type, first, count - first, bits));
                yield new Piece(Tensor.wrap(parts, type, shape), null, bits);
            }
        };
    }

    private static ByteBuffer direct(DType type, int from, int count, IntToLongFunction bits) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(count * type.bytes()).order(ByteOrder.nativeOrder());
        for (int i = 0; i < count; i++) {
            long element = bits.applyAsLong(from + i);
            switch (type.bytes()) {
                case 1 -> buffer.put(i, (byte) element);
                case 2 -> buffer.putShort(2 * i, (short) element);
                case 4 -> buffer.putInt(4 * i, (int) element);
                default -> buffer.putLong(8 * i, element);
            }
        }
        return buffer;
    }

    Tensor tensor() {
        return tensor;
    }

    /** Whether all elements are what they were. */
    boolean isUnchanged() {
        DType type = tensor.dtype();
        Object now = tensor.toArray();
        for (int i = 0; i < tensor.elements(); i++) {
            if (Elements.get(type, now, i) != bits.applyAsLong(i)) {
                return false;
            }
        }
        return true;
    }

    /** Whether nothing beside it has been written to. */
    boolean isMarginUnchanged() {
        if (array == null) {
            return true;
        }
        DType type = tensor.dtype();
        int behind = MARGIN + Math.toIntExact(tensor.elements());
        for (int i = 0; i < MARGIN; i++) {
            if (Elements.get(type, array, i) != MARK || Elements.get(type, array, behind + i) != MARK) {
                return false;
            }
        }
        return true;
    }
}
