package io.hvd.engine.execution;

import io.hvd.engine.message.Reducing;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.Arrays;

/** The contribution of a rank that has joined: elements that do not change the result. */
final class NeutralElement {
    private static final short HALF_INFINITY = 0x7c00;
    private static final short BFLOAT_INFINITY = 0x7f80;
    private static final short SIGN = (short) 0x8000;

    private NeutralElement() {}

    /** The element of which the contribution consists, as a tensor of its own in the host's memory. */
    static Tensor element(Reducing.Allreduce request) {
        Tensor element = Tensor.zeros(request.dtype(), Shape.of(1));
        ReduceOp op = request.how().op();
        if (op == ReduceOp.MIN || op == ReduceOp.MAX || op == ReduceOp.PRODUCT) {
            Object elements = element.toArray();
            fill(elements, request.dtype(), op);
            element.copyFrom(Tensor.wrap(elements, request.dtype(), element.shape()));
        }
        return element;
    }

    private static void fill(Object elements, DType type, ReduceOp op) {
        boolean least = op == ReduceOp.MAX;
        boolean one = op == ReduceOp.PRODUCT;
        switch (type) {
            case FLOAT32 ->
                Arrays.fill((float[]) elements, one ? 1 : least ? Float.NEGATIVE_INFINITY : Float.POSITIVE_INFINITY);
            case FLOAT64 ->
                Arrays.fill((double[]) elements, one ? 1 : least ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY);
            case INT32 -> Arrays.fill((int[]) elements, one ? 1 : least ? Integer.MIN_VALUE : Integer.MAX_VALUE);
            case INT64 -> Arrays.fill((long[]) elements, one ? 1 : least ? Long.MIN_VALUE : Long.MAX_VALUE);
            case INT8 -> Arrays.fill((byte[]) elements, one ? 1 : least ? Byte.MIN_VALUE : Byte.MAX_VALUE);
            case UINT8 -> Arrays.fill((byte[]) elements, (byte) (one ? 1 : least ? 0 : -1));
            case BOOL -> Arrays.fill((byte[]) elements, (byte) (least ? 0 : 1));
            case INT16 -> Arrays.fill((short[]) elements, one ? 1 : least ? Short.MIN_VALUE : Short.MAX_VALUE);
            case UINT16 -> Arrays.fill((short[]) elements, (short) (one ? 1 : least ? 0 : -1));
            case FLOAT16 -> Arrays.fill((short[]) elements, one ? (short) 0x3c00 : infinity(HALF_INFINITY, least));
            case BFLOAT16 -> Arrays.fill((short[]) elements, one ? (short) 0x3f80 : infinity(BFLOAT_INFINITY, least));
        }
    }

    private static short infinity(short positive, boolean negative) {
        return (short) (negative ? positive | SIGN : positive);
    }
}
