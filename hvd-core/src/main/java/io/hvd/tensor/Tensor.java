package io.hvd.tensor;

import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * A shape and an element type over memory that somebody else owns. Nothing is copied when a tensor
 * is made: an in-place collective changes the user's own array, buffer or GPU memory.
 */
public final class Tensor {
    private final DType dtype;
    private final Shape shape;
    private final Memory memory;

    private Tensor(DType dtype, Shape shape, Memory memory) {
        long needed = Math.multiplyExact(shape.elements(), (long) dtype.bytes());
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

    /** A vector of type bool that holds a copy of the array: bool lies in bytes, see {@link DType#BOOL}. */
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
     * A tensor over a whole Java array.
     *
     * @param array of the kind that {@link DType#arrayType()} names, with exactly the shape's number of elements
     */
    public static Tensor wrap(Object array, DType dtype, Shape shape) {
        return wrap(array, 0, Array.getLength(array), dtype, shape);
    }

    /** A tensor over a part of a Java array. */
    public static Tensor wrap(Object array, int offset, int length, DType dtype, Shape shape) {
        if (array.getClass() != dtype.arrayType()) {
            throw new IllegalArgumentException("a " + dtype + " tensor lies on a "
                    + dtype.arrayType().getSimpleName() + ", found "
                    + array.getClass().getSimpleName());
        }
        return new Tensor(dtype, shape, new HeapMemory(array, offset, length));
    }

    /** A tensor over what lies between position and limit of a direct buffer, in native byte order. */
    public static Tensor wrap(ByteBuffer buffer, DType dtype, Shape shape) {
        return new Tensor(dtype, shape, new BufferMemory(buffer));
    }

    /**
     * A tensor over GPU memory.
     *
     * @param address device address of the first element
     * @param stream CUDA stream on which the work that fills the memory is queued; 0 is the default stream
     */
    public static Tensor onDevice(long address, Device device, long stream, DType dtype, Shape shape) {
        return new Tensor(dtype, shape, new DeviceMemory(address, shape.elements() * dtype.bytes(), device, stream));
    }

    /** A new tensor of zeros on the heap. */
    public static Tensor zeros(DType dtype, Shape shape) {
        return new Tensor(dtype, shape, HeapMemory.allocate(dtype, shape.elements()));
    }

    public DType dtype() {
        return dtype;
    }

    public Shape shape() {
        return shape;
    }

    public Memory memory() {
        return memory;
    }

    public Device device() {
        return memory.device();
    }

    public long elements() {
        return shape.elements();
    }

    public long bytes() {
        return memory.bytes();
    }

    /** The host memory, for code that cannot reach a GPU's. */
    public HostMemory hostMemory() {
        if (memory instanceof HostMemory host) {
            return host;
        }
        throw new IllegalStateException("tensor lies on " + device() + ", expected cpu");
    }

    /** The elements as floats, converted from whatever type they have. */
    public float[] toFloatArray() {
        float[] floats = new float[Math.toIntExact(elements())];
        if (dtype == DType.FLOAT32) {
            hostMemory().read(dtype, 0, floats, floats.length);
            return floats;
        }
        Object raw = toArray();
        if (dtype.isHalf()) {
            HalfFloat.fromHalf(dtype, (short[]) raw, floats, floats.length);
            return floats;
        }
        for (int i = 0; i < floats.length; i++) {
            floats[i] = asFloat(raw, i);
        }
        return floats;
    }

    private float asFloat(Object raw, int i) {
        return switch (dtype) {
            case UINT8 -> ((byte[]) raw)[i] & 0xff;
            case UINT16 -> ((short[]) raw)[i] & 0xffff;
            default -> ((Number) Array.get(raw, i)).floatValue();
        };
    }

    /** A copy of the elements in a Java array of the type's own kind. */
    public Object toArray() {
        int count = Math.toIntExact(elements());
        Object copy = Array.newInstance(dtype.arrayType().getComponentType(), count);
        hostMemory().read(dtype, 0, copy, count);
        return copy;
    }

    /** The only element. */
    public float item() {
        if (elements() != 1) {
            throw new IllegalStateException("tensor has " + elements() + " elements, item() needs exactly one");
        }
        return toFloatArray()[0];
    }

    /** Overwrites the elements with those of a tensor of the same type and size. */
    public void copyFrom(Tensor source) {
        Objects.requireNonNull(source);
        if (source.dtype != dtype || source.elements() != elements()) {
            throw new IllegalArgumentException("cannot copy " + source + " into " + this);
        }
        hostMemory().write(dtype, 0, source.toArray(), Math.toIntExact(elements()));
    }

    @Override
    public String toString() {
        return dtype + shape.toString() + " on " + device();
    }
}
