package io.hvd.net;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Reads serialised Java objects without making any of them, and adds up what the hash tables among them would cost: each key is
 * hashed when its table is read, and the hash code of a collection or a record goes through everything that it holds. A table
 * in a table that refer twice to the one below take twice as long on each level, so that 1,500 bytes can keep a processor busy for
 * years. Objects that are not shared cost no more than their number times their depth.
 *
 * <pre>
 * object   TC_OBJECT class-description data-of-each-class          a class writes its fields, and then what it likes
 * costs    1 + those of everything in it; a reference costs what its object costs
 * </pre>
 *
 * @see <a href="https://docs.oracle.com/en/java/javase/17/docs/specs/serialization/protocol.html">the protocol</a>
 */
public final class SerializedGraph {
    /** A number of steps that no honest object reaches: with so many a processor is done within a fraction of a second. */
    private static final long STEPS = 10_000_000;

    private static final long STEPS_PER_BYTE = 100;
    private static final String TABLES_ARE_IN = "java.util.";

    /** Collections that hash nothing when they are read. What else writes more than its fields may hash all of it. */
    private static final Set<String> LISTS = Set.of(
            "java.util.ArrayDeque",
            "java.util.ArrayList",
            "java.util.LinkedList",
            "java.util.TreeMap",
            "java.util.TreeSet",
            "java.util.Vector");

    /** Their parts are a key, its value, a key, ... */
    private static final Set<String> MAPS =
            Set.of("java.util.HashMap", "java.util.Hashtable", "java.util.concurrent.ConcurrentHashMap");

    /** Collections that read more than their fields whatever the bytes say about them. */
    private static final Set<String> WRITING_MORE = Set.of(
            "java.util.ArrayList",
            "java.util.CollSer",
            "java.util.HashMap",
            "java.util.HashSet",
            "java.util.LinkedList",
            "java.util.TreeMap",
            "java.util.TreeSet");

    private static final int MAGIC = 0xaced0005;
    private static final int NULL = 0x70;
    private static final int REFERENCE = 0x71;
    private static final int CLASS_DESCRIPTION = 0x72;
    private static final int OBJECT = 0x73;
    private static final int STRING = 0x74;
    private static final int ARRAY = 0x75;
    private static final int CLASS = 0x76;
    private static final int BLOCK = 0x77;
    private static final int END_OF_BLOCKS = 0x78;
    private static final int LONG_BLOCK = 0x7a;
    private static final int LONG_STRING = 0x7c;
    private static final int ENUM = 0x7e;
    private static final int FIRST_HANDLE = 0x7e0000;

    private static final int WRITES_MORE = 1;
    private static final int IS_SERIALIZABLE = 2;
    private static final int WRITES_ALL = 4;
    private static final int IN_BLOCKS = 8;

    private final ByteBuffer bytes;
    /** By handle: of a class its description, of an object what it costs; those of an object that is being read are not known. */
    private final List<Object> known = new ArrayList<>();

    private long steps;

    private record Description(String name, int flags, List<Character> fields, Description parent) {}

    private SerializedGraph(byte[] bytes) {
        this.bytes = ByteBuffer.wrap(bytes);
    }

    /** Whether a hash table of the JDK's may be among the objects; its name may be written in a longer form, which a reader must refuse. */
    public static boolean namesTables(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1).contains(TABLES_ARE_IN);
    }

    /** Whether a class is of the package in which hash tables are. */
    public static boolean mayBeTable(Class<?> type) {
        return type.getName().startsWith(TABLES_ARE_IN);
    }

    /**
     * Refuses objects whose hash tables would take longer to fill than their size explains.
     *
     * @throws IllegalArgumentException that says so, or that these bytes are no objects in the form that Java writes
     */
    public static void requireBoundedHashing(byte[] bytes) {
        SerializedGraph graph = new SerializedGraph(bytes);
        try {
            graph.read();
        } catch (BufferUnderflowException | IndexOutOfBoundsException | ClassCastException e) {
            throw new IllegalArgumentException("they are not in the form in which Java writes objects", e);
        }
        long most = STEPS + STEPS_PER_BYTE * bytes.length;
        if (graph.steps > most) {
            throw new IllegalArgumentException("its sets and maps hold one another so often that hashing them takes "
                    + (graph.steps == Long.MAX_VALUE ? "more than 2^63" : graph.steps) + " steps, expected at most "
                    + most
                    + " for " + bytes.length + " bytes: send it as lists");
        }
    }

    private void read() {
        if (bytes.getInt() != MAGIC) {
            throw new IndexOutOfBoundsException("another beginning");
        }
        while (bytes.hasRemaining()) {
            content(bytes.get() & 0xff);
        }
    }

    /** Reads an object or a block of data, and returns what the object costs. */
    private long content(int type) {
        switch (type) {
            case NULL:
                return 1;
            case REFERENCE:
                return reference() instanceof Long cost ? cost : 1;
            case CLASS_DESCRIPTION:
                newDescription();
                return 1;
            case OBJECT:
                return object();
            case STRING:
                return string(bytes.getShort() & 0xffff);
            case LONG_STRING:
                return string(bytes.getLong());
            case ARRAY:
                return array();
            case ENUM:
                description();
                known.add(1L);
                return content(bytes.get() & 0xff);
            case CLASS:
                description();
                known.add(1L);
                return 1;
            case BLOCK:
                skip(bytes.get() & 0xff);
                return 0;
            case LONG_BLOCK:
                skip(bytes.getInt());
                return 0;
            default:
                throw new IndexOutOfBoundsException("an unknown type: " + type);
        }
    }

    private Object reference() {
        return known.get(bytes.getInt() - FIRST_HANDLE);
    }

    private long string(long length) {
        skip(length);
        known.add(1L);
        return 1;
    }

    private void skip(long count) {
        if (count < 0 || count > bytes.remaining()) {
            throw new BufferUnderflowException();
        }
        bytes.position(bytes.position() + (int) count);
    }

    private Description description() {
        int type = bytes.get() & 0xff;
        return switch (type) {
            case NULL -> null;
            case REFERENCE -> (Description) reference();
            case CLASS_DESCRIPTION -> newDescription();
            default -> throw new IndexOutOfBoundsException("no class: " + type);
        };
    }

    private Description newDescription() {
        String name = text();
        skip(Long.BYTES);
        int handle = known.size();
        known.add(null);
        int flags = bytes.get();
        List<Character> fields = new ArrayList<>();
        for (int left = bytes.getShort() & 0xffff; left > 0; left--) {
            char field = (char) bytes.get();
            fields.add(field);
            text();
            if (field == 'L' || field == '[') {
                content(bytes.get() & 0xff); // the name of its class
            }
        }
        annotation();
        Description description = new Description(name, flags, fields, description());
        known.set(handle, description);
        return description;
    }

    /** Decodes as Java does, which takes longer forms of a character, too. */
    private String text() {
        int begin = bytes.position();
        skip(Short.BYTES + (bytes.getShort(begin) & 0xffff));
        try {
            return new DataInputStream(new ByteArrayInputStream(bytes.array(), begin, bytes.position() - begin))
                    .readUTF();
        } catch (IOException e) {
            throw new IndexOutOfBoundsException("no text: " + e);
        }
    }

    private long object() {
        Description description = description();
        int handle = known.size();
        known.add(null);
        long cost = plus(1, dataOf(description));
        known.set(handle, cost);
        return cost;
    }

    /** The classes above write first. */
    private long dataOf(Description description) {
        if (description == null) {
            return 0;
        }
        if ((description.flags & WRITES_ALL) != 0) {
            return writtenByItself(description); // by an Externalizable, which calls those above as it likes
        }
        long cost = dataOf(description.parent);
        for (char field : description.fields) {
            cost = plus(cost, value(field));
        }
        if ((description.flags & WRITES_MORE) != 0) {
            cost = plus(cost, writtenByItself(description));
        } else if (WRITING_MORE.contains(description.name)) {
            throw new IndexOutOfBoundsException(description.name + " without its elements");
        }
        return cost;
    }

    private long writtenByItself(Description description) {
        if ((description.flags & (IS_SERIALIZABLE | IN_BLOCKS)) == 0) {
            throw new IndexOutOfBoundsException("a class whose data has no end: " + description.name);
        }
        List<Long> parts = annotation();
        long cost = 0;
        for (int i = 0; i < parts.size(); i++) {
            boolean isHashed = MAPS.contains(description.name) ? i % 2 == 0 : !LISTS.contains(description.name);
            steps = plus(steps, isHashed ? parts.get(i) : 0);
            cost = plus(cost, parts.get(i));
        }
        return cost;
    }

    /** Reads to the end of what a class has written by itself, and returns what each object in it costs. */
    private List<Long> annotation() {
        List<Long> parts = new ArrayList<>();
        for (int type = bytes.get() & 0xff; type != END_OF_BLOCKS; type = bytes.get() & 0xff) {
            long cost = content(type);
            if (type != BLOCK && type != LONG_BLOCK) {
                parts.add(cost);
            }
        }
        return parts;
    }

    private long array() {
        Description description = description();
        int handle = known.size();
        known.add(null);
        char element = description.name.charAt(1);
        long length = bytes.getInt();
        long cost = 1;
        if (element == 'L' || element == '[') {
            for (long left = length; left > 0; left--) {
                cost = plus(cost, content(bytes.get() & 0xff));
            }
        } else {
            skip(length * width(element));
        }
        known.set(handle, cost);
        return cost;
    }

    /** Reads a field, and returns what the object in it costs. */
    private long value(char type) {
        if (type == 'L' || type == '[') {
            return content(bytes.get() & 0xff);
        }
        skip(width(type));
        return 0;
    }

    private static int width(char type) {
        return switch (type) {
            case 'B', 'Z' -> 1;
            case 'C', 'S' -> Short.BYTES;
            case 'I', 'F' -> Integer.BYTES;
            case 'J', 'D' -> Long.BYTES;
            default -> throw new IndexOutOfBoundsException("an unknown type: " + type);
        };
    }

    private static long plus(long a, long b) {
        long sum = a + b;
        return sum < 0 ? Long.MAX_VALUE : sum;
    }
}
