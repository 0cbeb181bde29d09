package io.hvd.kernel;

import io.hvd.tensor.BufferMemory;
import io.hvd.tensor.Bulk;
import io.hvd.tensor.DType;
import io.hvd.tensor.HeapMemory;
import io.hvd.tensor.HostMemory;
import io.hvd.tensor.SplitMemory;
import io.hvd.tensor.Tensor;
import java.lang.reflect.Array;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Copies, scales and converts runs of elements between tensors and a staging buffer in one pass.
 *
 * <p>It works block by block through small arrays that stay in the first-level cache, because the JIT makes vector code
 * of loops over plain arrays. A run of no elements may begin anywhere, even behind the end of the tensor: a piece that
 * is shorter than others has no elements in the last rounds. Not thread-safe: each thread needs its own.
 */
public final class Converter {
    private static final int BLOCK = 2048;

    private final float[] floats = new float[BLOCK];
    private final short[] halves = new short[BLOCK];
    private final Object[] own = new Object[DType.values().length];
    private final Views views;
    private double lastFactor = 1;
    private Scale lastScale = Scale.ONE;

    /** One converter for each thread, which has buffers of its own. */
    public Converter() {
        this(Views.few());
    }

    private Converter(Views views) {
        this.views = views;
    }

    /** A converter to and from the memory that the ranks of a host share. */
    public static Converter ofPlaces() {
        return new Converter(Views.ofPlaces());
    }

    /** Writes {@code count} elements of {@code from} as {@code wire} elements, times {@code scale}, from byte {@code at} on. */
    public void pack(Tensor from, long first, int count, ByteBuffer to, int at, DType wire, double scale) {
        if (count == 0) {
            return;
        }
        DType type = from.dtype();
        HostMemory memory = from.hostMemory();
        if (wire == type && scale == 1.0) {
            copyOut(memory, type, first, count, to, at);
            return;
        }
        Scale by = factor(scale);
        Buffer view = views.of(to, wire);
        int index = Bulk.index(wire, at);
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            Object block = block(type);
            memory.read(type, first + done, block, run);
            Bulk.put(view, wire, index + done, convert(block, type, wire, by, run), 0, run);
        }
    }

    /** Writes {@code wire} elements, scaled, as elements of {@code to}; the reverse of {@link #pack}. */
    public void unpack(ByteBuffer from, int at, DType wire, Tensor to, long first, int count, Scale scale) {
        if (count == 0) {
            return;
        }
        DType type = to.dtype();
        HostMemory memory = to.hostMemory();
        if (wire == type && scale.isOne()) {
            copyIn(from, at, memory, type, first, count);
            return;
        }
        Buffer view = views.of(from, wire);
        int index = Bulk.index(wire, at);
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            Object block = block(wire);
            Bulk.get(view, wire, index + done, block, 0, run);
            memory.write(type, first + done, convert(block, wire, type, scale, run), run);
        }
    }

    /** Fills {@code to}, an array of {@code wire}'s kind, from element {@code at} on; otherwise as {@link #pack}. */
    void load(Tensor from, long first, int count, Object to, int at, DType wire, double scale) {
        if (count == 0) {
            return;
        }
        DType type = from.dtype();
        HostMemory memory = from.hostMemory();
        if (wire == type && scale == 1.0) {
            memory.read(type, first, to, at, count);
            return;
        }
        Scale by = factor(scale);
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            Object block = block(type);
            memory.read(type, first + done, block, run);
            System.arraycopy(convert(block, type, wire, by, run), 0, to, at + done, run);
        }
    }

    /**
     * Writes elements of {@code from}, an array of {@code wire}'s kind that is not changed, as elements of {@code to};
     * the reverse of {@link #load}.
     */
    void store(Object from, int at, DType wire, Tensor to, long first, int count, Scale scale) {
        if (count == 0) {
            return;
        }
        DType type = to.dtype();
        HostMemory memory = to.hostMemory();
        if (wire == type && scale.isOne()) {
            memory.write(type, first, from, at, count);
            return;
        }
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            Object block = block(wire);
            System.arraycopy(from, at + done, block, 0, run);
            memory.write(type, first + done, convert(block, wire, type, scale, run), run);
        }
    }

    /**
     * As {@link #pack} of the half type {@code grid}, but writes its numbers as float32, which the ranks that share a memory need not
     * convert again.
     */
    void packRounded(Tensor from, long first, int count, ByteBuffer to, int at, DType grid, double scale) {
        boolean byBits = grid == DType.BFLOAT16 || HalfRuns.roundsBits(grid);
        if (byBits && from.dtype() == DType.FLOAT32 && scale == 1.0) {
            packBits(from.hostMemory(), first, count, to, at, grid);
            return;
        }
        Buffer view = views.of(to, DType.FLOAT32);
        int index = Bulk.index(DType.FLOAT32, at);
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            loadRounded(from, first + done, run, floats, 0, grid, scale);
            Bulk.put(view, DType.FLOAT32, index + done, floats, 0, run);
        }
    }

    /** Rounds float32 by its bits, which direct memory gives and takes without a detour. */
    private void packBits(HostMemory memory, long first, int count, ByteBuffer to, int at, DType grid) {
        int[] bits = (int[]) block(DType.INT32);
        Buffer view = views.of(to, DType.INT32);
        int index = Bulk.index(DType.INT32, at);
        boolean heap = memory instanceof HeapMemory;
        if (heap) {
            copyOut(memory, DType.FLOAT32, first, count, to, at);
        }
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            if (heap) {
                Bulk.get(view, DType.INT32, index + done, bits, 0, run);
            } else {
                memory.read(DType.INT32, first + done, bits, run);
            }
            HalfRuns.round(grid, bits, run);
            Bulk.put(view, DType.INT32, index + done, bits, 0, run);
        }
    }

    /** As {@link #loadRounded}, but fills {@code to} with the bits of the numbers; needs {@link FloatBits}. */
    void loadBits(Tensor from, long first, int count, int[] to, int at, DType grid, double scale) {
        if (at == 0 && count <= BLOCK) {
            loadBits(from, first, count, to, grid, scale);
            return;
        }
        int[] bits = (int[]) block(DType.INT32);
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            loadBits(from, first + done, run, bits, grid, scale);
            System.arraycopy(bits, 0, to, at + done, run);
        }
    }

    private void loadBits(Tensor from, long first, int count, int[] bits, DType grid, double scale) {
        if (from.dtype() == DType.FLOAT32 && scale == 1.0) {
            readBits(from.hostMemory(), first, bits, count);
            HalfRuns.round(grid, bits, count);
        } else {
            loadRounded(from, first, count, floats, 0, grid, scale);
            FloatBits.fromFloats(floats, 0, bits, count);
        }
    }

    private static void readBits(HostMemory memory, long first, int[] bits, int count) {
        if (memory instanceof HeapMemory heap) {
            FloatBits.fromFloats((float[]) heap.array(), heap.at(first, count), bits, count);
        } else {
            memory.read(DType.INT32, first, bits, count);
        }
    }

    /** As {@link #store} of float32, but {@code from} holds the bits of the numbers; needs {@link FloatBits}. */
    void storeBits(int[] from, int at, Tensor to, long first, int count, Scale scale) {
        HostMemory memory = to.hostMemory();
        if (to.dtype() == DType.FLOAT32 && scale.isOne() && !(memory instanceof HeapMemory)) {
            memory.write(DType.INT32, first, from, at, count);
            return;
        }
        int[] bits = (int[]) block(DType.INT32);
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            System.arraycopy(from, at + done, bits, 0, run);
            if (to.dtype() == DType.FLOAT32) {
                FloatBits.toFloats(bits, floats, 0, run, (float) scale.asFactor());
                memory.write(DType.FLOAT32, first + done, floats, run);
            } else {
                FloatBits.toFloats(bits, floats, 0, run, 1);
                store(floats, 0, DType.FLOAT32, to, first + done, run, scale);
            }
        }
    }

    /** As {@link #load}, otherwise as {@link #packRounded}. */
    void loadRounded(Tensor from, long first, int count, float[] to, int at, DType grid, double scale) {
        if (from.dtype() == DType.FLOAT32 && scale == 1.0) {
            from.hostMemory().read(DType.FLOAT32, first, to, at, count);
            HalfRuns.round(grid, to, at, count);
            return;
        }
        Scale by = factor(scale);
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            Object block = block(from.dtype());
            from.hostMemory().read(from.dtype(), first + done, block, run);
            System.arraycopy(rounded(block, from.dtype(), grid, by, run), 0, to, at + done, run);
        }
    }

    private float[] rounded(Object block, DType from, DType grid, Scale scale, int count) {
        short[] narrow = (short[]) convert(block, from, grid, scale, count);
        return toFloats(narrow, grid, count);
    }

    /** Copies elements between two tensors of the same type, whose memory must not overlap unless it is the same. */
    public void copy(Tensor from, long first, Tensor to, long at, long count) {
        DType type = from.dtype();
        Object block = block(type);
        for (long done = 0; done < count; done += BLOCK) {
            int run = (int) Math.min(BLOCK, count - done);
            from.hostMemory().read(type, first + done, block, run);
            to.hostMemory().write(type, at + done, block, run);
        }
    }

    private void copyOut(HostMemory memory, DType type, long first, int count, ByteBuffer to, int at) {
        if (memory instanceof HeapMemory heap) {
            Bulk.put(views.of(to, type), type, Bulk.index(type, at), heap.array(), heap.at(first, count), count);
        } else if (memory instanceof BufferMemory direct) {
            to.put(at, direct.buffer(), Math.toIntExact(first * type.bytes()), count * type.bytes());
        } else if (memory instanceof SplitMemory split) {
            int bytes = type.bytes();
            split.forEachRun(
                    type, first, count, (part, from, done, run) -> to.put(at + done * bytes, part, from, run * bytes));
        }
    }

    private void copyIn(ByteBuffer from, int at, HostMemory memory, DType type, long first, int count) {
        if (memory instanceof HeapMemory heap) {
            Bulk.get(views.of(from, type), type, Bulk.index(type, at), heap.array(), heap.at(first, count), count);
        } else if (memory instanceof BufferMemory direct) {
            direct.buffer().put(Math.toIntExact(first * type.bytes()), from, at, count * type.bytes());
        } else if (memory instanceof SplitMemory split) {
            int bytes = type.bytes();
            split.forEachRun(
                    type, first, count, (part, to, done, run) -> part.put(to, from, at + done * bytes, run * bytes));
        }
    }

    /** Converts a block. The result may be the same array, changed. Doubles are scaled as doubles. */
    private Object convert(Object block, DType from, DType to, Scale scale, int count) {
        if (from == to && !from.isHalf()) {
            scaleInPlace(block, from, scale, count);
            return block;
        }
        if (from == DType.FLOAT64) {
            scaleInPlace(block, from, scale, count);
            return narrowed((double[]) block, to, count);
        }
        float[] middle = toFloats(block, from, count);
        if (to == DType.FLOAT64) {
            double[] wide = widened(middle, count);
            scaleInPlace(wide, to, scale, count);
            return wide;
        }
        scaleInPlace(middle, DType.FLOAT32, scale, count);
        return fromFloats(middle, from, to, count);
    }

    private float[] toFloats(Object block, DType from, int count) {
        return switch (from) {
            case FLOAT32 -> (float[]) block;
            case FLOAT16, BFLOAT16 -> {
                HalfRuns.fromHalf(from, (short[]) block, floats, count);
                yield floats;
            }
            default -> throw new IllegalArgumentException("no conversion from " + from + " to a floating type");
        };
    }

    private Object fromFloats(float[] values, DType from, DType to, int count) {
        if (to == DType.FLOAT32) {
            return values;
        }
        requireHalf(from, to);
        HalfRuns.toHalf(to, values, halves, count);
        return halves;
    }

    /** Converts straight to the requested type: by way of a float, a half would be rounded twice. */
    private Object narrowed(double[] values, DType to, int count) {
        if (to == DType.FLOAT32) {
            for (int i = 0; i < count; i++) {
                floats[i] = (float) values[i];
            }
            return floats;
        }
        requireHalf(DType.FLOAT64, to);
        HalfRuns.toHalf(to, values, halves, count);
        return halves;
    }

    private double[] widened(float[] values, int count) {
        double[] wide = (double[]) block(DType.FLOAT64);
        for (int i = 0; i < count; i++) {
            wide[i] = values[i];
        }
        return wide;
    }

    private static void requireHalf(DType from, DType to) {
        if (!to.isHalf()) {
            throw new IllegalArgumentException("no conversion from " + from + " to " + to);
        }
    }

    static void scaleInPlace(Object block, DType type, Scale scale, int count) {
        if (scale.isOne()) {
            return;
        }
        switch (type) {
            case FLOAT32 -> {
                float[] values = (float[]) block;
                float factor = (float) scale.asFactor();
                for (int i = 0; i < count; i++) {
                    values[i] *= factor;
                }
            }
            case FLOAT64 -> {
                double[] values = (double[]) block;
                double factor = scale.asFactor();
                for (int i = 0; i < count; i++) {
                    values[i] *= factor;
                }
            }
            default -> scaleIntegers(block, type, scale, count);
        }
    }

    private static void scaleIntegers(Object block, DType type, Scale scale, int count) {
        switch (type) {
            case INT32 -> {
                int[] values = (int[]) block;
                for (int i = 0; i < count; i++) {
                    values[i] = (int) scale.scaled(values[i]);
                }
            }
            case INT64 -> {
                long[] values = (long[]) block;
                for (int i = 0; i < count; i++) {
                    values[i] = scale.scaled(values[i]);
                }
            }
            case INT8, UINT8 -> scaleBytes((byte[]) block, type == DType.UINT8 ? 0xff : -1, scale, count);
            case INT16, UINT16 -> scaleShorts((short[]) block, type == DType.UINT16 ? 0xffff : -1, scale, count);
            default -> throw new IllegalArgumentException("no scaling for " + type);
        }
    }

    private static void scaleBytes(byte[] values, int mask, Scale scale, int count) {
        for (int i = 0; i < count; i++) {
            values[i] = (byte) scale.scaled(values[i] & mask);
        }
    }

    private static void scaleShorts(short[] values, int mask, Scale scale, int count) {
        for (int i = 0; i < count; i++) {
            values[i] = (short) scale.scaled(values[i] & mask);
        }
    }

    /** The scale for a factor, which is usually the same as the last time. */
    private Scale factor(double scale) {
        if (scale != lastFactor) {
            lastFactor = scale;
            lastScale = Scale.by(scale);
        }
        return lastScale;
    }

    private Object block(DType type) {
        Object block = own[type.ordinal()];
        if (block == null) {
            block = Array.newInstance(type.arrayType().getComponentType(), BLOCK);
            own[type.ordinal()] = block;
        }
        return block;
    }
}
