package io.hvd.kernel;

import io.hvd.tensor.Bulk;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Combines the same range of several staging buffers, in their order, so that the owner of a range gets one
 * well-defined result for all ranks. Half types are accumulated in float32 and rounded once. Not thread-safe: each
 * thread needs its own.
 */
public final class Reducer {
    /** The elements of a block, and of arrays that must stay in the first cache, as all that round half types do. */
    private static final int BLOCK = 2048;
    /** The elements of a block of another type; the processor reads ahead in another core's memory in long runs only. */
    private static final int LONG_BLOCK = 16384;

    private final KernelSum kernelSum;
    private final float[] left = new float[BLOCK];
    private final float[] right = new float[BLOCK];
    private final Object[] accumulators = new Object[DType.values().length];
    private final Object[] operands = new Object[DType.values().length];
    private final Views views;

    /** A reducer that uses Java alone. */
    public Reducer() {
        this(ReduceKernel.NONE, Views.few());
    }

    private Reducer(ReduceKernel kernel, Views views) {
        this.kernelSum = new KernelSum(kernel);
        this.views = views;
    }

    /**
     * A reducer of messages.
     *
     * @param kernel reduces what it can
     */
    public static Reducer of(ReduceKernel kernel) {
        return new Reducer(kernel, Views.few());
    }

    /**
     * A reducer of the memory that the ranks of a host share.
     *
     * @param kernel reduces what it can
     */
    public static Reducer ofPlaces(ReduceKernel kernel) {
        return new Reducer(kernel, Views.ofPlaces());
    }

    /**
     * Reduces elements {@code [first, first + count)} of every source into the same place of {@code target}.
     *
     * <p>A NaN on any rank is the minimum and the maximum, as in {@link Math#min} and {@link Math#max};
     * -0.0 is less than 0.0. Integers wrap around.
     *
     * @param op SUM, MIN, MAX or PRODUCT
     * @param target the result's memory; may be one of the sources
     */
    public void reduce(ReduceOp op, DType type, List<ByteBuffer> sources, int first, int count, ByteBuffer target) {
        reduce(op, type, sources, first, count, target, NOWHERE_ELSE);
    }

    /**
     * Reduces where one of the sources lies elsewhere, and the result goes there too.
     *
     * @param sources the staging buffers; {@code own} replaces one of them, whatever it contains
     * @param target null if the result goes nowhere else
     */
    public void reduce(
            ReduceOp op, DType type, List<ByteBuffer> sources, int first, int count, ByteBuffer target, Own own) {
        boolean byKernel = own.grid() == null && kernelSum.takes(op, type, sources, count, target);
        int done = 0;
        while (done < count) {
            int run = byKernel ? kernelSum.reduce(type, sources, first + done, count - done, target, own) : 0;
            if (run == 0) {
                run = Math.min(type.isHalf() || own.grid() != null ? BLOCK : LONG_BLOCK, count - done);
                reduceBlock(op, type, sources, first + done, run, target, own);
            }
            done += run;
        }
    }

    /** A source in the caller's memory, which need not be copied to a staging buffer first. */
    public interface Own {
        /** The number of the source, counted from 0; a negative one means none. */
        int place();

        /** Fills an array of the type's kind with {@code count} elements, the first of them number {@code first}. */
        void read(int first, int count, Object block);

        /** The direct buffer that holds the first of these elements, as many as lie together; null if there is none. */
        ByteBuffer direct(int first, int count);

        /**
         * Whether the result goes here too: into the memory of {@link #direct} if there is any, to which the other sources may then
         * be added, else to {@link #write}.
         */
        boolean receives();

        /**
         * The scale for the result, applied before it is written; for a half type to the float32 before it is rounded.
         */
        Scale scale();

        /**
         * The half type to whose numbers a result in float32 is rounded; null if it is not. If there is one, {@link #read} and
         * {@link #write} also take an {@code int[]} of the bits of float32.
         */
        default DType grid() {
            return null;
        }

        /** Receives the result; {@code block} must not be changed. */
        void write(int first, int count, Object block);
    }

    private static final Own NOWHERE_ELSE = new Own() {
        @Override
        public int place() {
            return -1;
        }

        @Override
        public void read(int first, int count, Object block) {
            throw new IllegalStateException("it is none of the sources");
        }

        @Override
        public ByteBuffer direct(int first, int count) {
            return null;
        }

        @Override
        public boolean receives() {
            return false;
        }

        @Override
        public Scale scale() {
            return Scale.ONE;
        }

        @Override
        public void write(int first, int count, Object block) {
            throw new IllegalStateException("the result goes to the target only");
        }
    };

    private void reduceBlock(
            ReduceOp op, DType type, List<ByteBuffer> sources, int first, int run, ByteBuffer target, Own own) {
        if (type.isHalf()) {
            reduceHalves(op, type, sources, first, run, target, own);
            return;
        }
        if (own.grid() != null) {
            reduceOnGrid(op, sources, first, run, target, own);
            return;
        }
        Object accumulator = block(accumulators, type, run);
        Object operand = block(operands, type, run);
        load(type, sources, 0, first, run, own, accumulator);
        int last = sources.size() - 1;
        boolean scaledWhenAdded = op == ReduceOp.SUM && type == DType.FLOAT32 && last > 0;
        int combined = scaledWhenAdded ? last : last + 1;
        for (int i = 1; i < combined; i++) {
            load(type, sources, i, first, run, own, operand);
            combine(op, type, accumulator, operand, run);
        }
        if (scaledWhenAdded) {
            load(type, sources, last, first, run, own, operand);
            addAndScale(
                    (float[]) accumulator,
                    (float[]) operand,
                    (float) own.scale().asFactor(),
                    run);
        } else {
            Converter.scaleInPlace(accumulator, type, own.scale(), run);
        }
        put(accumulator, type, first, run, target);
        give(own, first, run, accumulator);
    }

    /** Sources and result are numbers of a half type in float32. */
    private void reduceOnGrid(ReduceOp op, List<ByteBuffer> sources, int first, int run, ByteBuffer target, Own own) {
        DType type = DType.FLOAT32;
        if (op == ReduceOp.SUM && own.scale().isOne() && HalfRuns.roundsBits(own.grid())) {
            addOnGrid(sources, first, run, target, own);
            return;
        }
        int last = sources.size() - 1;
        load(type, sources, 0, first, run, own, left);
        for (int i = 1; i <= last; i++) {
            load(type, sources, i, first, run, own, right);
            if (i == last && op == ReduceOp.SUM && own.scale().isOne()) {
                HalfRuns.addAndRound(own.grid(), left, right, run);
            } else {
                combineFloats(op, left, right, run);
            }
        }
        if (last == 0 || op != ReduceOp.SUM || !own.scale().isOne()) {
            Converter.scaleInPlace(left, type, own.scale(), run);
            HalfRuns.round(own.grid(), left, 0, run);
        }
        put(left, type, first, run, target);
        give(own, first, run, left);
    }

    /** Adds numbers of a half type, of whose float32 it moves the bits. */
    private void addOnGrid(List<ByteBuffer> sources, int first, int run, ByteBuffer target, Own own) {
        DType type = DType.INT32;
        int[] sum = (int[]) block(accumulators, type, run);
        int[] operand = (int[]) block(operands, type, run);
        load(type, sources, 0, first, run, own, sum);
        for (int i = 1; i < sources.size(); i++) {
            load(type, sources, i, first, run, own, operand);
            FloatBits.add(sum, operand, run);
        }
        HalfRuns.round(own.grid(), sum, run);
        put(sum, type, first, run, target);
        give(own, first, run, sum);
    }

    private void reduceHalves(
            ReduceOp op, DType type, List<ByteBuffer> sources, int first, int run, ByteBuffer target, Own own) {
        short[] halves = (short[]) block(operands, type, run);
        load(type, sources, 0, first, run, own, halves);
        HalfRuns.fromHalf(type, halves, left, run);
        for (int i = 1; i < sources.size(); i++) {
            load(type, sources, i, first, run, own, halves);
            HalfRuns.fromHalf(type, halves, right, run);
            combineFloats(op, left, right, run);
        }
        Converter.scaleInPlace(left, DType.FLOAT32, own.scale(), run);
        HalfRuns.toHalf(type, left, halves, run);
        put(halves, type, first, run, target);
        give(own, first, run, halves);
    }

    private void put(Object block, DType type, int first, int run, ByteBuffer target) {
        if (target != null) {
            Bulk.put(views.of(target, type), type, first, block, 0, run);
        }
    }

    private static void give(Own own, int first, int run, Object block) {
        if (own.receives()) {
            own.write(first, run, block);
        }
    }

    private void load(DType type, List<ByteBuffer> sources, int which, int first, int run, Own own, Object block) {
        if (which == own.place()) {
            own.read(first, run, block);
        } else {
            Bulk.get(views.of(sources.get(which), type), type, first, block, 0, run);
        }
    }

    private static void combine(ReduceOp op, DType type, Object accumulator, Object operand, int count) {
        switch (type) {
            case FLOAT32 -> combineFloats(op, (float[]) accumulator, (float[]) operand, count);
            case FLOAT64 -> combineDoubles(op, (double[]) accumulator, (double[]) operand, count);
            case INT32 -> combineInts(op, (int[]) accumulator, (int[]) operand, count);
            case INT64 -> combineLongs(op, (long[]) accumulator, (long[]) operand, count);
            case INT8, UINT8, BOOL ->
                combineBytes(op.arithmeticOn(type), type, (byte[]) accumulator, (byte[]) operand, count);
            case INT16, UINT16 -> combineShorts(op, type, (short[]) accumulator, (short[]) operand, count);
            default -> throw new IllegalArgumentException("no reduction for " + type);
        }
    }

    /** Adds and scales in one pass, as nearly every average of gradients does. */
    private static void addAndScale(float[] a, float[] b, float factor, int count) {
        for (int i = 0; i < count; i++) {
            a[i] = (a[i] + b[i]) * factor;
        }
    }

    private static void combineFloats(ReduceOp op, float[] a, float[] b, int count) {
        switch (op) {
            case SUM -> {
                for (int i = 0; i < count; i++) {
                    a[i] += b[i];
                }
            }
            case MIN -> {
                for (int i = 0; i < count; i++) {
                    a[i] = Math.min(a[i], b[i]);
                }
            }
            case MAX -> {
                for (int i = 0; i < count; i++) {
                    a[i] = Math.max(a[i], b[i]);
                }
            }
            case PRODUCT -> {
                for (int i = 0; i < count; i++) {
                    a[i] *= b[i];
                }
            }
            default -> throw unknown(op);
        }
    }

    private static void combineDoubles(ReduceOp op, double[] a, double[] b, int count) {
        switch (op) {
            case SUM -> {
                for (int i = 0; i < count; i++) {
                    a[i] += b[i];
                }
            }
            case MIN -> {
                for (int i = 0; i < count; i++) {
                    a[i] = Math.min(a[i], b[i]);
                }
            }
            case MAX -> {
                for (int i = 0; i < count; i++) {
                    a[i] = Math.max(a[i], b[i]);
                }
            }
            case PRODUCT -> {
                for (int i = 0; i < count; i++) {
                    a[i] *= b[i];
                }
            }
            default -> throw unknown(op);
        }
    }

    private static void combineInts(ReduceOp op, int[] a, int[] b, int count) {
        switch (op) {
            case SUM -> {
                for (int i = 0; i < count; i++) {
                    a[i] += b[i];
                }
            }
            case MIN -> {
                for (int i = 0; i < count; i++) {
                    a[i] = Math.min(a[i], b[i]);
                }
            }
            case MAX -> {
                for (int i = 0; i < count; i++) {
                    a[i] = Math.max(a[i], b[i]);
                }
            }
            case PRODUCT -> {
                for (int i = 0; i < count; i++) {
                    a[i] *= b[i];
                }
            }
            default -> throw unknown(op);
        }
    }

    private static void combineLongs(ReduceOp op, long[] a, long[] b, int count) {
        switch (op) {
            case SUM -> {
                for (int i = 0; i < count; i++) {
                    a[i] += b[i];
                }
            }
            case MIN -> {
                for (int i = 0; i < count; i++) {
                    a[i] = Math.min(a[i], b[i]);
                }
            }
            case MAX -> {
                for (int i = 0; i < count; i++) {
                    a[i] = Math.max(a[i], b[i]);
                }
            }
            case PRODUCT -> {
                for (int i = 0; i < count; i++) {
                    a[i] *= b[i];
                }
            }
            default -> throw unknown(op);
        }
    }

    /** Bytes wrap around as MPI's 8-bit integers do; only their order depends on the sign. */
    private static void combineBytes(ReduceOp op, DType type, byte[] a, byte[] b, int count) {
        int mask = type == DType.INT8 ? -1 : 0xff;
        for (int i = 0; i < count; i++) {
            a[i] = (byte) combineNarrow(op, a[i] & mask, b[i] & mask);
        }
    }

    private static void combineShorts(ReduceOp op, DType type, short[] a, short[] b, int count) {
        int mask = type == DType.INT16 ? -1 : 0xffff;
        for (int i = 0; i < count; i++) {
            a[i] = (short) combineNarrow(op, a[i] & mask, b[i] & mask);
        }
    }

    private static int combineNarrow(ReduceOp op, int x, int y) {
        return switch (op) {
            case SUM -> x + y;
            case MIN -> Math.min(x, y);
            case MAX -> Math.max(x, y);
            case PRODUCT -> x * y;
            default -> throw unknown(op);
        };
    }

    private static IllegalArgumentException unknown(ReduceOp op) {
        return new IllegalArgumentException("reduction " + op + " has no kernel");
    }

    private static Object block(Object[] blocks, DType type, int run) {
        Object block = blocks[type.ordinal()];
        if (block == null || Array.getLength(block) < run) {
            int length = run <= BLOCK ? BLOCK : LONG_BLOCK;
            block = Array.newInstance(type.arrayType().getComponentType(), length);
            blocks[type.ordinal()] = block;
        }
        return block;
    }
}
