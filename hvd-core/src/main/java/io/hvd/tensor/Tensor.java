package io.hvd.tensor;

import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;

/**
 * A shape and an element type over memory that belongs to the program. Making a tensor copies nothing: an in-place
 * collective changes the program's own array, buffer or GPU memory.
 */
public final class Tensor {
    /** Length of an array that every JVM can allocate; the language would allow a few elements more. */
    private static final int LONGEST_ARRAY = Integer.MAX_VALUE - 8;

    private static final int COPIED_AT_ONCE = 2048;

    private final DType dtype;
    private final Shape shape;
    private final Memory memory;
    /** Null unless {@link #expectReading} has been called; set before the tensor is handed over. */
    private ReadWatch watch;
    /** An object that must live as long as this tensor; the field is never read. */
    private Object memoryOwner;

    private Tensor(DType dtype, Shape shape, Memory memory) {
        long needed = bytes(dtype, shape);
        if (memory.bytes() != needed) {
            throw new IllegalArgumentException("a " + dtype + " tensor of shape " + shape + " needs " + needed
                    + " bytes, the memory given has " + memory.bytes());
        }
        this.dtype = dtype;
        this.shape = shape;
        this.memory = memory;
    }

    /** A vector over the array itself. */
    public static Tensor of(float... values) {
        return wrap(values, DType.FLOAT32, Shape.of(values.length));
    }

    /** A vector over the array itself. */
    public static Tensor of(double... values) {
        return wrap(values, DType.FLOAT64, Shape.of(values.length));
    }

    /** A vector over the array itself. */
    public static Tensor of(int... values) {
        return wrap(values, DType.INT32, Shape.of(values.length));
    }

    /** A vector over the array itself. */
    public static Tensor of(long... values) {
        return wrap(values, DType.INT64, Shape.of(values.length));
    }

    /** A vector of unsigned bytes over the array itself. */
    public static Tensor ofBytes(byte[] values) {
        return wrap(values, DType.UINT8, Shape.of(values.length));
    }

    /**
     * A vector of type bool that holds a copy of the array, because bool elements are kept as bytes, see {@link
     * DType#BOOL}.
     */
    public static Tensor copyOf(boolean... values) {
        byte[] bytes = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            bytes[i] = (byte) (values[i] ? 1 : 0);
        }
        return wrap(bytes, DType.BOOL, Shape.of(values.length));
    }

    /** A vector of signed 16-bit integers over the array itself. */
    public static Tensor ofShorts(short[] values) {
        return wrap(values, DType.INT16, Shape.of(values.length));
    }

    /**
     * Makes a tensor over a whole Java array.
     *
     * @param array an array of the kind that {@link DType#arrayType()} names, with exactly the shape's number of
     *     elements
     */
    public static Tensor wrap(Object array, DType dtype, Shape shape) {
        return wrap(array, 0, Array.getLength(array), dtype, shape);
    }

    /** Makes a tensor over a part of a Java array. */
    public static Tensor wrap(Object array, int offset, int length, DType dtype, Shape shape) {
        if (array.getClass() != dtype.arrayType()) {
            throw new IllegalArgumentException("a " + dtype + " tensor lies on a "
                    + dtype.arrayType().getSimpleName() + ", found "
                    + array.getClass().getSimpleName());
        }
        return new Tensor(dtype, shape, new HeapMemory(array, offset, length));
    }

    /**
     * Makes a tensor over the bytes between position and limit of a direct buffer.
     *
     * @param buffer a direct buffer in native byte order, which a new buffer is not before {@code
     *     order(ByteOrder.nativeOrder())}; for elements of one byte any order will do
     * @throws IllegalArgumentException if the buffer is on the heap, has another length than the tensor, or another
     *     byte order than the machine, in which each element would be another number
     */
    public static Tensor wrap(ByteBuffer buffer, DType dtype, Shape shape) {
        BufferMemory memory = new BufferMemory(buffer);
        requireNativeOrder(buffer, dtype, shape);
        return new Tensor(dtype, shape, memory);
    }

    /**
     * Makes a tensor over the bytes between position and limit of several direct buffers, one after the other. It may
     * be larger than one buffer can be.
     *
     * @param buffers direct buffers in native byte order, each of which holds whole elements
     * @throws IllegalArgumentException as {@link #wrap(ByteBuffer, DType, Shape)} does
     */
    public static Tensor wrap(List<ByteBuffer> buffers, DType dtype, Shape shape) {
        if (buffers.size() == 1) {
            return wrap(buffers.get(0), dtype, shape);
        }
        SplitMemory memory = new SplitMemory(buffers);
        buffers.forEach(buffer -> requireNativeOrder(buffer, dtype, shape));
        if (!memory.holdsWhole(dtype)) {
            throw new IllegalArgumentException("a " + dtype + " element of " + dtype.bytes()
                    + " bytes lies across two of the " + buffers.size() + " buffers given");
        }
        return new Tensor(dtype, shape, memory);
    }

    /** A number that a program writes through a buffer of another order would be another number here. */
    private static void requireNativeOrder(ByteBuffer buffer, DType dtype, Shape shape) {
        if (dtype.bytes() > 1 && buffer.order() != ByteOrder.nativeOrder()) {
            throw new IllegalArgumentException("the buffer of a " + dtype + " tensor of shape " + shape + " is "
                    + buffer.order() + ", expected this machine's byte order, " + ByteOrder.nativeOrder()
                    + ": call buffer.order(ByteOrder.nativeOrder()) before it is filled and before it is wrapped. New"
                    + " buffers, slices, duplicates and read-only views begin as " + ByteOrder.BIG_ENDIAN);
        }
    }

    /**
     * Makes a tensor over GPU memory.
     *
     * @param address device address of the first element
     * @param stream CUDA stream on which the work that fills the memory is queued; 0 is the default stream
     */
    public static Tensor onDevice(long address, Device device, long stream, DType dtype, Shape shape) {
        return new Tensor(dtype, shape, new DeviceMemory(address, bytes(dtype, shape), device, stream));
    }

    /** Makes a tensor of zeros in new memory: on the heap, or outside the heap if no Java array can be as long. */
    public static Tensor zeros(DType dtype, Shape shape) {
        return zeros(dtype, shape, LONGEST_ARRAY);
    }

    static Tensor zeros(DType dtype, Shape shape, int longestArray) {
        HostMemory memory = shape.elements() <= longestArray
                ? HeapMemory.allocate(dtype, shape.elements())
                : SplitMemory.allocate(bytes(dtype, shape), SplitMemory.LONGEST_PART);
        return new Tensor(dtype, shape, memory);
    }

    private static long bytes(DType dtype, Shape shape) {
        return Math.multiplyExact(shape.elements(), (long) dtype.bytes());
    }

    /** The type of the elements. */
    public DType dtype() {
        return dtype;
    }

    /** The dimensions. */
    public Shape shape() {
        return shape;
    }

    /** The memory of the elements, in row-major order. */
    public Memory memory() {
        markRead();
        return memory;
    }

    /**
     * Keeps an object reachable as long as this tensor is. Use it for an object whose cleaner frees the tensor's
     * memory: a direct buffer that native code has made does not refer to that object.
     *
     * @return this tensor
     */
    public Tensor keeping(Object owner) {
        memoryOwner = Objects.requireNonNull(owner);
        return this;
    }

    /**
     * Reports this tensor if it becomes garbage before any code has asked for its memory or its elements, as happens to
     * the result of a collective that the program ignores. Call it once, before the tensor is handed over. Passing the
     * tensor to another operation counts as reading.
     *
     * @param afterLife runs an action at most once, after an object has become garbage, as {@link
     *     java.lang.ref.Cleaner#register} does
     * @param onNeverRead the report; it must not refer to this tensor, which would then never become garbage
     * @throws IllegalStateException if it has been called before
     */
    public void expectReading(BiConsumer<Tensor, Runnable> afterLife, Runnable onNeverRead) {
        if (watch != null) {
            throw new IllegalStateException("reading of " + this + " is expected already");
        }
        watch = new ReadWatch(Objects.requireNonNull(onNeverRead));
        afterLife.accept(this, watch);
    }

    private void markRead() {
        if (watch != null) {
            watch.markRead();
        }
    }

    /** The device on which the elements lie. */
    public Device device() {
        return memory.device();
    }

    /** The number of elements. */
    public long elements() {
        return shape.elements();
    }

    /** The number of bytes of all elements. */
    public long bytes() {
        return memory.bytes();
    }

    /** The memory of a tensor on the host, for code that cannot reach GPU memory. */
    public HostMemory hostMemory() {
        if (memory() instanceof HostMemory host) {
            return host;
        }
        throw new IllegalStateException("tensor lies on " + device() + ", expected cpu");
    }

    /**
     * Converts the elements, whatever their type is, to an array of floats.
     *
     * @throws IllegalStateException if there are more than a Java array can hold
     */
    public float[] toFloatArray() {
        float[] floats = new float[arrayLength()];
        if (dtype == DType.FLOAT32) {
            hostMemory().read(dtype, 0, floats, floats.length);
            return floats;
        }
        Object raw = toArray();
        for (int i = 0; i < floats.length; i++) {
            floats[i] = asFloat(raw, i);
        }
        return floats;
    }

    private float asFloat(Object raw, int i) {
        return switch (dtype) {
            case UINT8 -> ((byte[]) raw)[i] & 0xff;
            case UINT16 -> ((short[]) raw)[i] & 0xffff;
            case FLOAT16 -> HalfFloat.fromFloat16(((short[]) raw)[i]);
            case BFLOAT16 -> HalfFloat.fromBfloat16(((short[]) raw)[i]);
            default -> ((Number) Array.get(raw, i)).floatValue();
        };
    }

    /**
     * Copies the elements to a Java array of the kind that {@link DType#arrayType()} names.
     *
     * @throws IllegalStateException if there are more than a Java array can hold
     */
    public Object toArray() {
        int count = arrayLength();
        Object copy = Array.newInstance(dtype.arrayType().getComponentType(), count);
        hostMemory().read(dtype, 0, copy, count);
        return copy;
    }

    private int arrayLength() {
        if (elements() > LONGEST_ARRAY) {
            throw new IllegalStateException("a tensor of " + elements() + " elements fits no Java array,"
                    + " which holds up to " + LONGEST_ARRAY + ": read it in parts with hostMemory().read");
        }
        return (int) elements();
    }

    /** The only element. */
    public float item() {
        if (elements() != 1) {
            throw new IllegalStateException("tensor has " + elements() + " elements, item() needs exactly one");
        }
        return toFloatArray()[0];
    }

    /**
     * Overwrites the elements with those of a tensor of the same type and size, whose memory must not overlap this
     * one's.
     */
    public void copyFrom(Tensor source) {
        Objects.requireNonNull(source);
        if (source.dtype != dtype || source.elements() != elements()) {
            throw new IllegalArgumentException("cannot copy " + source + " into " + this);
        }
        int most = (int) Math.min(COPIED_AT_ONCE, elements());
        Object block = Array.newInstance(dtype.arrayType().getComponentType(), most);
        for (long done = 0; done < elements(); done += most) {
            int run = (int) Math.min(most, elements() - done);
            source.hostMemory().read(dtype, done, block, run);
            hostMemory().write(dtype, done, block, run);
        }
    }

    @Override
    public String toString() {
        return dtype + shape.toString() + " on " + device();
    }
}
