package io.hvd.backend.mpi.bindings;

import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import java.nio.ByteBuffer;

/**
 * One element that travels behind the others in an allreduce and comes back changed if a single rank
 * objected. For a sum and a maximum, 0 means yes and 1 no; for a product and a minimum it is the other
 * way round.
 */
final class Veto {
    private static final int HALF_ONE = 0x3c00;
    private static final int BFLOAT_ONE = 0x3f80;

    private Veto() {}

    static void write(ByteBuffer stage, int element, Reduction how, boolean raised) {
        boolean one = raised == oneMeansNo(how);
        long bits = one ? one(how.wire()) : 0;
        int at = element * how.wire().bytes();
        switch (how.wire().bytes()) {
            case 1 -> stage.put(at, (byte) bits);
            case 2 -> stage.putShort(at, (short) bits);
            case 4 -> stage.putInt(at, (int) bits);
            default -> stage.putLong(at, bits);
        }
    }

    static boolean isRaised(ByteBuffer stage, int element, Reduction how) {
        int at = element * how.wire().bytes();
        boolean zero =
                switch (how.wire().bytes()) {
                    case 1 -> stage.get(at) == 0;
                    case 2 -> stage.getShort(at) == 0;
                    case 4 -> stage.getInt(at) == 0;
                    default -> stage.getLong(at) == 0;
                };
        return zero != oneMeansNo(how);
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
