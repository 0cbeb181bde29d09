package io.hvd;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputFilter;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;

/**
 * Turns objects into bytes for other ranks and back. There is no codec for just any object: what may
 * be read from the wire is always declared.
 */
public interface ObjectCodec<T> {
    byte[] encode(T value);

    T decode(byte[] bytes);

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
     * Java serialisation, restricted to the classes named, to strings, boxed primitives and arrays of these. Bytes that
     * claim larger arrays than they could hold are refused before memory is taken for them.
     *
     * @param type class of the object itself
     * @param parts classes of what it holds
     */
    static <T extends Serializable> ObjectCodec<T> serializable(Class<T> type, Class<?>... parts) {
        Set<Class<?>> allowed = new java.util.HashSet<>(List.of(parts));
        allowed.addAll(List.of(type, String.class, Number.class, Boolean.class, Character.class, Enum.class));
        return new ObjectCodec<>() {
            @Override
            public byte[] encode(T value) {
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
                    out.writeObject(value);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
                return bytes.toByteArray();
            }

            @Override
            public T decode(byte[] bytes) {
                try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
                    in.setObjectInputFilter(info -> check(info, allowed, bytes.length));
                    return type.cast(in.readObject());
                } catch (IOException | ClassNotFoundException | ClassCastException e) {
                    throw new IllegalArgumentException("the bytes received are no " + type.getName() + ": " + e, e);
                }
            }
        };
    }

    private static ObjectInputFilter.Status check(ObjectInputFilter.FilterInfo info, Set<Class<?>> allowed, int bytes) {
        if (info.arrayLength() > bytes || info.references() > bytes) {
            return ObjectInputFilter.Status.REJECTED;
        }
        Class<?> found = info.serialClass();
        if (found == null) {
            return ObjectInputFilter.Status.UNDECIDED;
        }
        while (found.isArray()) {
            found = found.getComponentType();
        }
        boolean known = found.isPrimitive()
                || allowed.contains(found)
                || (Number.class.isAssignableFrom(found) && found.getName().startsWith("java.lang."));
        return known ? ObjectInputFilter.Status.ALLOWED : ObjectInputFilter.Status.REJECTED;
    }
}
