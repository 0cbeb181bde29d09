package io.hvd.tensor;

/** Memory that the CPU reads and writes: a Java array, a direct buffer or several. */
public sealed interface HostMemory extends Memory permits HeapMemory, BufferMemory, SplitMemory {
    @Override
    default Device device() {
        return Device.CPU;
    }

    /**
     * Copies elements into a Java array of {@code type}'s kind.
     *
     * @param from index of the first element, counted in elements of {@code type}
     * @param array {@code float[]} for float32 and so on, see {@link DType#arrayType()}
     */
    default void read(DType type, long from, Object array, int count) {
        read(type, from, array, 0, count);
    }

    /** Copies elements from a Java array of {@code type}'s kind; the reverse of {@code read}. */
    default void write(DType type, long from, Object array, int count) {
        write(type, from, array, 0, count);
    }

    /** Reads elements into {@code array} from its element {@code at} on. */
    void read(DType type, long from, Object array, int at, int count);

    /** Writes elements from {@code array}, beginning with its element {@code at}. */
    void write(DType type, long from, Object array, int at, int count);
}
