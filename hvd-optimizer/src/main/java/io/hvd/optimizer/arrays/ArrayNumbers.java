package io.hvd.optimizer.arrays;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The numbers of an {@link ArrayState}, parameter by parameter. Each parameter has made as many steps as the whole, less those before
 * its buffers began anew.
 */
public final class ArrayNumbers {
    private final ByteBuffer bytes;
    private final int[] lengths;
    private final int kinds;
    /** The number of elements before each parameter, and last that of all. */
    private final int[] before;
    /** For each parameter the steps before its buffers began anew. */
    private final long[] late;

    private ArrayNumbers(ByteBuffer bytes, int[] lengths, int kinds, long[] late) {
        this.bytes = bytes;
        this.lengths = lengths;
        this.kinds = kinds;
        this.before = new int[lengths.length + 1];
        for (int i = 0; i < lengths.length; i++) {
            before[i + 1] = before[i] + lengths[i];
        }
        this.late = late;
    }

    /**
     * Those of an optimizer that has made no step.
     *
     * @param lengths of the parameters
     * @param kinds of buffers
     */
    public static ArrayNumbers zeros(int[] lengths, int kinds) {
        return new ArrayNumbers(ByteBuffer.allocate(end(lengths, kinds)), lengths, kinds, new long[lengths.length]);
    }

    /** Reads what {@link #encode} has written, over the same parameters. */
    public static ArrayNumbers decode(byte[] encoded, int[] lengths, int kinds) {
        int end = end(lengths, kinds);
        long[] late = new long[lengths.length];
        if (encoded.length > end) {
            ByteBuffer.wrap(encoded).position(end).asLongBuffer().get(late);
        }
        return new ArrayNumbers(ByteBuffer.wrap(Arrays.copyOf(encoded, end)), lengths, kinds, late);
    }

    private static int end(int[] lengths, int kinds) {
        return Math.toIntExact(ArrayState.HEAD
                + (long) Float.BYTES
                        * kinds
                        * Arrays.stream(lengths).asLongStream().sum());
    }

    public long steps() {
        return bytes.getLong(0);
    }

    public double rate() {
        return bytes.getDouble(Long.BYTES);
    }

    /** Sets the head; no parameter may have made more steps. */
    public void head(long steps, double rate) {
        bytes.putLong(0, steps).putDouble(Long.BYTES, rate);
    }

    /** The next step is the parameter's first one. */
    public void beginAnew(int parameter) {
        late[parameter] = steps();
    }

    /** Takes a parameter over from others, with the number of steps that it has made there. */
    public void take(int parameter, ArrayNumbers others, int place) {
        for (int kind = 0; kind < kinds; kind++) {
            bytes.put(
                    begin(kind, parameter), others.bytes, others.begin(kind, place), Float.BYTES * lengths[parameter]);
        }
        late[parameter] = steps() - (others.steps() - others.late[place]);
    }

    private int begin(int kind, int parameter) {
        return ArrayState.HEAD + Float.BYTES * (kind * before[lengths.length] + before[parameter]);
    }

    /** The numbers; the steps of each parameter follow only where they are not those of all. */
    public byte[] encode() {
        return kinds == 0 ? bytes.array() : encode(bytes.array(), late);
    }

    /** @param numbers head and buffers @param late for each parameter the steps before its buffers began anew */
    public static byte[] encode(byte[] numbers, long[] late) {
        if (Arrays.stream(late).allMatch(steps -> steps == 0)) {
            return numbers;
        }
        ByteBuffer all = ByteBuffer.allocate(numbers.length + Long.BYTES * late.length);
        all.put(numbers).asLongBuffer().put(late);
        return all.array();
    }
}
