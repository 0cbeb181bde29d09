package io.hvd.examples.image;

import io.hvd.ObjectCodec;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** How often each sample was in a step that counts, on any rank. It counts what the ranks have told each other, not what a sampler claims. */
final class SampleCounts {
    private int[] counts;

    SampleCounts(int samples) {
        counts = new int[samples];
    }

    /** @param indices of one step, of all ranks */
    void add(int[] indices) {
        for (int index : indices) {
            counts[index]++;
        }
    }

    int[] counts() {
        return counts;
    }

    void counts(int[] others) {
        counts = others;
    }

    static ObjectCodec<int[]> codec() {
        return new ObjectCodec<>() {
            @Override
            public byte[] encode(int[] value) {
                ByteBuffer bytes = ByteBuffer.allocate(value.length * Integer.BYTES);
                bytes.asIntBuffer().put(value);
                return bytes.array();
            }

            @Override
            public int[] decode(byte[] bytes) {
                int[] value = new int[bytes.length / Integer.BYTES];
                ByteBuffer.wrap(bytes).asIntBuffer().get(value);
                return value;
            }
        };
    }

    /** Such as {@code samples=18000 each_at_least=3 each_at_most=3}. */
    @Override
    public String toString() {
        return "samples=" + Arrays.stream(counts).asLongStream().sum() + " each_at_least="
                + Arrays.stream(counts).min().orElse(0) + " each_at_most="
                + Arrays.stream(counts).max().orElse(0);
    }
}
