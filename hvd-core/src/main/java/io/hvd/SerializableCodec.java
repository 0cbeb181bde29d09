package io.hvd;

import io.hvd.net.SerializedGraph;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputFilter;
import java.io.ObjectInputFilter.FilterInfo;
import java.io.ObjectInputFilter.Status;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Java serialisation of declared classes; bytes from elsewhere are not trusted. */
final class SerializableCodec<T extends Serializable> implements ObjectCodec<T> {
    /** About half of what fits on the stack of a thread as the JVM makes it, in compiled code of one level of classes. */
    static final int DEEPEST = 500;

    /** Collections of the JDK that hold elements and nothing else; each element is looked at by itself. */
    private static final Set<String> COLLECTIONS = Set.of(
            "java.util.ArrayList",
            "java.util.Arrays$ArrayList",
            "java.util.CollSer", // what List.of, Set.of and Map.of are sent as
            "java.util.HashMap",
            "java.util.HashSet",
            "java.util.ImmutableCollections$List12",
            "java.util.ImmutableCollections$ListN",
            "java.util.ImmutableCollections$Map1",
            "java.util.ImmutableCollections$MapN",
            "java.util.ImmutableCollections$Set12",
            "java.util.ImmutableCollections$SetN",
            "java.util.LinkedHashMap",
            "java.util.LinkedHashSet",
            "java.util.LinkedList",
            "java.util.Map$Entry", // the array that a HashMap makes
            "java.util.TreeMap",
            "java.util.TreeSet");

    private final Class<T> type;
    private final Set<Class<?>> allowed;

    SerializableCodec(Class<T> type, Class<?>... parts) {
        this.type = type;
        this.allowed = new HashSet<>(List.of(parts));
        allowed.addAll(List.of(type, String.class, Number.class, Boolean.class, Character.class, Enum.class));
    }

    @Override
    public byte[] encode(T value) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(value);
        } catch (StackOverflowError e) {
            throw new IllegalArgumentException(
                    "an object of " + type.getName() + " cannot be sent: " + tooDeep("the stack holds"), e);
        } catch (IOException e) {
            throw new IllegalArgumentException("an object of " + type.getName() + " cannot be sent: " + e, e);
        }
        return bytes.toByteArray();
    }

    @Override
    public T decode(byte[] bytes) {
        boolean namesTables = SerializedGraph.namesTables(bytes);
        if (namesTables) {
            requireBoundedHashing(bytes);
        }
        Filter filter = new Filter(bytes.length, namesTables);
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
            in.setObjectInputFilter(filter);
            return type.cast(in.readObject());
        } catch (StackOverflowError e) {
            throw noObject(tooDeep("the stack holds"), e);
        } catch (IOException | ClassNotFoundException | RuntimeException | LinkageError e) {
            // Made-up bytes end in any of them: names that are no classes, constructors that refuse what they get.
            throw noObject(filter.why.isEmpty() ? e.toString() : filter.why, e);
        }
    }

    /** Each object is looked at before it is made; how often one refers to another, Java's filter does not say. */
    private void requireBoundedHashing(byte[] bytes) {
        try {
            SerializedGraph.requireBoundedHashing(bytes);
        } catch (StackOverflowError e) {
            throw noObject(tooDeep("the stack holds"), e);
        } catch (IllegalArgumentException e) {
            throw noObject(e.getMessage(), e);
        }
    }

    private IllegalArgumentException noObject(String why, Throwable cause) {
        return new IllegalArgumentException("the bytes received are no " + type.getName() + ": " + why, cause);
    }

    private static String tooDeep(String than) {
        return "its objects are nested deeper than " + than + ", expected at most " + DEEPEST
                + ": put a long chain into a list";
    }

    private static Class<?> elementOf(Class<?> type) {
        Class<?> element = type;
        while (element.isArray()) {
            element = element.getComponentType();
        }
        return element;
    }

    /** Looks at each object before it is made. */
    private final class Filter implements ObjectInputFilter {
        private final int bytes;
        private final boolean namesTables;
        /** The first objection. */
        private String why = "";

        Filter(int bytes, boolean namesTables) {
            this.bytes = bytes;
            this.namesTables = namesTables;
        }

        @Override
        public Status checkInput(FilterInfo info) {
            String objection = objection(info);
            if (!objection.isEmpty()) {
                why = why.isEmpty() ? objection : why;
                return Status.REJECTED;
            }
            return info.serialClass() == null ? Status.UNDECIDED : Status.ALLOWED;
        }

        private String objection(FilterInfo info) {
            if (info.depth() > DEEPEST) {
                return tooDeep(String.valueOf(DEEPEST));
            }
            if (info.arrayLength() > bytes || info.references() > bytes) {
                return "an array of " + info.arrayLength() + " elements, or " + info.references() + " objects, in "
                        + bytes + " bytes";
            }
            Class<?> found = info.serialClass();
            if (found != null && !namesTables && SerializedGraph.mayBeTable(elementOf(found))) {
                return "the name of " + found.getTypeName() + " is not in the form in which Java writes it";
            }
            return found == null || isAllowed(found) ? "" : undeclared(found);
        }

        private String undeclared(Class<?> found) {
            return "it holds a " + found.getTypeName() + ", which is none of the classes declared: name it with"
                    + " ObjectCodec.serializable(" + type.getSimpleName() + ".class, "
                    + elementOf(found).getSimpleName() + ".class) on all ranks";
        }

        private boolean isAllowed(Class<?> found) {
            Class<?> element = elementOf(found);
            if (element == Object.class) {
                return found != Object.class; // the array in which a list keeps its elements
            }
            return COLLECTIONS.contains(element.getName())
                    || element.isPrimitive()
                    || allowed.contains(element)
                    || (Number.class.isAssignableFrom(element)
                            && element.getName().startsWith("java.lang."));
        }
    }
}
