package io.hvd.collective;

import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import java.nio.ByteBuffer;

/**
 * An element that travels behind the others in an allreduce and comes back changed if any rank vetoes. For a sum and a
 * maximum, 0 means consent and 1 a veto; for a product and a minimum it is the other way round. Where the sum of so
 * many ranks could wrap around to 0, the ranks use several elements.
 */
final class Veto {
    private static final int HALF_ONE = 0x3c00;
    private static final int BFLOAT_ONE = 0x3f80;

    private final int rank;
    private final int size;

    Veto(int rank, int size) {
        this.rank = rank;
        this.size = size;
    }

    int elements(DType wire) {
        return (size - 1) / sharing(wire) + 1;
    }

    /** The number of ranks that may use one element, because the sum of so many ones is not 0. */
    private static int sharing(DType wire) {
        return wire.isFloating() || wire.bytes() > Short.BYTES ? Integer.MAX_VALUE : (1 << 8 * wire.bytes()) - 1;
    }

    /** @param first the first of its elements */
    void write(ByteBuffer stage, int first, Reduction how, boolean raised) {
        for (int i = 0; i < elements(how.wire()); i++) {
            boolean mine = i == rank / sharing(how.wire());
            put(stage, first + i, how.wire(), (raised && mine) == oneMeansNo(how) ? one(how.wire()) : 0);
        }
    }

    boolean isRaised(ByteBuffer stage, int first, Reduction how) {
        for (int i = 0; i < elements(how.wire()); i++) {
            if (isZero(stage, first + i, how.wire()) != oneMeansNo(how)) {
                return true;
            }
        }
        return false;
    }

    private static void put(ByteBuffer stage, int element, DType wire, long bits) {
        int at = element * wire.bytes();
        switch (wire.bytes()) {
            case 1 -> stage.put(at, (byte) bits);
            case 2 -> stage.putShort(at, (short) bits);
            case 4 -> stage.putInt(at, (int) bits);
            default -> stage.putLong(at, bits);
        }
    }

    private static boolean isZero(ByteBuffer stage, int element, DType wire) {
        int at = element * wire.bytes();
        return switch (wire.bytes()) {
            case 1 -> stage.get(at) == 0;
            case 2 -> stage.getShort(at) == 0;
            case 4 -> stage.getInt(at) == 0;
            default -> stage.getLong(at) == 0;
        };
    }

    private static boolean oneMeansNo(Reduction how) {
        return switch (how.op()) {
            case SUM, MAX -> true;
            case MIN, PRODUCT -> false;
            case AVERAGE, ADASUM -> throw new IllegalArgumentException(how.op() + " does not travel");
        };
    }

    private static long one(DType type) {
        return switch (type) {
            case FLOAT32 -> Float.floatToRawIntBits(1);
            case FLOAT64 -> Double.doubleToRawLongBits(1);
            case FLOAT16 -> HALF_ONE;
            case BFLOAT16 -> BFLOAT_ONE;
            default -> 1;
        };
    }
}
