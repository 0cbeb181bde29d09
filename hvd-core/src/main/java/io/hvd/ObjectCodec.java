package io.hvd;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;

/**
 * Turns objects into bytes for other ranks, and bytes into objects. There is no codec for arbitrary objects: a program
 * always declares which classes may be read.
 */
public interface ObjectCodec<T> {
    /** The bytes that travel for an object. */
    byte[] encode(T value);

    /** The object that {@link #encode} has turned into these bytes. */
    T decode(byte[] bytes);

    /** A codec that leaves bytes as they are. */
    static ObjectCodec<byte[]> bytes() {
        return new ObjectCodec<>() {
            @Override
            public byte[] encode(byte[] value) {
                return value;
            }

            @Override
            public byte[] decode(byte[] bytes) {
                return bytes;
            }
        };
    }

    /** A codec for text, in UTF-8. */
    static ObjectCodec<String> utf8() {
        return new ObjectCodec<>() {
            @Override
            public byte[] encode(String value) {
                return value.getBytes(StandardCharsets.UTF_8);
            }

            @Override
            public String decode(byte[] bytes) {
                return new String(bytes, StandardCharsets.UTF_8);
            }
        };
    }

    /**
     * Java serialisation, restricted to the classes named, to strings, boxed primitives and arrays of these, and to the
     * JDK's lists, sets and maps ({@code ArrayList}, {@code HashMap}, {@code List.of} and their like) of all of these. Bytes that
     * claim larger arrays than they could hold are refused before memory is taken for them. Objects may be nested
     * {@value SerializableCodec#DEEPEST} deep, since Java follows them by recursion: put a longer chain into a list. Sets and maps
     * that hold one another so often that to hash them takes far longer than their size explains are refused.
     *
     * <p>An object that cannot be encoded, and bytes that hold no object of these classes, whatever they are, cause an
     * {@link IllegalArgumentException}.
     *
     * @param type the class of the object itself
     * @param parts the classes of the objects that it holds
     */
    static <T extends Serializable> ObjectCodec<T> serializable(Class<T> type, Class<?>... parts) {
        return new SerializableCodec<>(type, parts);
    }
}
