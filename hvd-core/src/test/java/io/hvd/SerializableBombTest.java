package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.Externalizable;
import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Hashtable;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BinaryOperator;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Few bytes whose hash tables would take years to fill are refused; whatever an honest program sends comes back. */
@Timeout(60)
class SerializableBombTest {
    private static final int DEPTH = 40;

    private record Pair(Object left, Object right) implements Serializable {}

    private enum Colour {
        RED,
        GREEN
    }

    private static byte[] bytes(Object object) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(object);
        }
        return bytes.toByteArray();
    }

    private static void refused(Serializable bomb, Class<? extends Serializable> type) throws IOException {
        byte[] bytes = bytes(bomb);
        assertThat(bytes.length).isLessThan(20_000);
        assertThatThrownBy(() -> ObjectCodec.serializable(type, Pair.class).decode(bytes))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(type.getName(), "its sets and maps", "expected at most", "bytes");
    }

    /** Every collection that is hashed by what it holds, on its way down to a table. */
    private enum Level {
        HASH_SET(() -> new HashSet<>()),
        LINKED_HASH_SET(() -> new LinkedHashSet<>()),
        ARRAY_LIST(() -> new ArrayList<>()),
        LINKED_LIST(() -> new LinkedList<>());

        private final Supplier<Collection<Object>> make;

        Level(Supplier<Collection<Object>> make) {
            this.make = make;
        }
    }

    /** Two collections on each level, both of which hold both of the level below; each is in a table by itself, too. */
    @ParameterizedTest
    @EnumSource(Level.class)
    void collectionsThatHoldTheLevelBelowTwiceAreRefusedInATable(Level level) throws IOException {
        HashSet<Object> root = new HashSet<>();
        Collection<Object> left = level.make.get();
        Collection<Object> right = level.make.get();
        root.add(left);
        for (int i = 0; i < DEPTH; i++) {
            Collection<Object> nextLeft = level.make.get();
            Collection<Object> nextRight = level.make.get();
            nextLeft.add("not empty");
            link(left, nextLeft, nextRight);
            link(right, nextLeft, nextRight);
            left = nextLeft;
            right = nextRight;
        }
        refused(root, HashSet.class);
    }

    private static void link(Collection<Object> from, Object left, Object right) {
        from.add(left);
        from.add(right);
    }

    /** From the lowest level up, in a list, so that no table stands inside another one in the bytes. */
    @Test
    void theOrderOfTheBytesHidesNothing() throws IOException {
        refused(new ArrayList<>(levels((left, right) -> Arrays.asList(left, right))), ArrayList.class);
        refused(new ArrayList<>(levels(Pair::new)), ArrayList.class);
    }

    /** Each level refers to the one below twice; the last one is a key. */
    private static List<Object> levels(BinaryOperator<Object> level) {
        List<Object> all = new ArrayList<>();
        Object below = "bottom";
        for (int i = 0; i < DEPTH; i++) {
            below = level.apply(below, below);
            all.add(below);
        }
        all.add(new OneKey(below).table());
        return all;
    }

    /** A table whose key is put there without being hashed, as an attacker's bytes have it. */
    private record OneKey(Object key) {
        HashMap<Object, Object> table() {
            List<Object> late = new ArrayList<>();
            HashMap<Object, Object> table = new HashMap<>();
            table.put(late, "value");
            late.add(key);
            return table;
        }
    }

    @Test
    void aMapAsAKeyIsHashedWithItsValues() throws IOException {
        HashMap<Object, Object> below = new HashMap<>(Map.of("k", "v"));
        List<HashMap<Object, Object>> all = new ArrayList<>();
        for (int i = 0; i < DEPTH; i++) {
            below = new HashMap<>();
            all.add(below);
        }
        for (int i = 1; i < DEPTH; i++) {
            all.get(i - 1).put("a", all.get(i));
            all.get(i - 1).put("b", all.get(i));
        }
        refused(new OneKey(all.get(0)).table(), HashMap.class);
    }

    /** Tables that a program declares itself. */
    @Test
    void declaredTablesAreLookedAtToo() throws IOException {
        Object key = levels((left, right) -> Arrays.asList(left, right)).get(DEPTH - 1);
        for (Map<Object, Object> table : List.<Map<Object, Object>>of(new ConcurrentHashMap<>(), new Hashtable<>())) {
            List<Object> late = new ArrayList<>();
            table.put(late, "value");
            late.add(key);
            assertThatThrownBy(() -> ObjectCodec.serializable(ArrayList.class, table.getClass(), ReentrantLock.class)
                            .decode(bytes(new ArrayList<>(List.of(table)))))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("its sets and maps");
        }
    }

    /** A class that writes all of itself, with lists between. */
    public static final class Written implements Externalizable {
        private static final long serialVersionUID = 1L;
        private transient List<String> words = List.of();

        public Written() {}

        @Override
        public void writeExternal(ObjectOutput out) throws IOException {
            out.writeInt(words.size());
            out.writeObject(new ArrayList<>(words));
        }

        @Override
        @SuppressWarnings("unchecked")
        public void readExternal(ObjectInput in) throws IOException, ClassNotFoundException {
            in.readInt();
            words = (List<String>) in.readObject();
        }
    }

    @Test
    void aLongTextAndAClassThatWritesItselfComeBack() {
        Written sent = new Written();
        sent.words = List.of("x".repeat(100_000), "y");
        ObjectCodec<Written> codec = ObjectCodec.serializable(Written.class);
        assertThat(codec.decode(codec.encode(sent)).words).isEqualTo(sent.words);
    }

    @Test
    void whatHonestProgramsSendComesBack() {
        ArrayList<Integer> shared = IntStream.range(0, 10_000).boxed().collect(Collectors.toCollection(ArrayList::new));
        Map<String, Object> all = new LinkedHashMap<>();
        all.put(
                "wide",
                new HashMap<>(IntStream.range(0, 50_000).boxed().collect(Collectors.toMap(i -> "key" + i, i -> i))));
        all.put("deep", nested(100));
        all.put("shared", new ArrayList<>(List.of(shared, shared, shared)));
        all.put("keys", new HashMap<>(Map.of(List.of(1, 2), Set.of("a", "b"), Map.of("x", 1), 'c')));
        all.put(
                "sorted",
                new TreeMap<>(Map.of("b", new TreeSet<>(Set.of(3L, 1L)), "a", new LinkedList<>(List.of(2.5)))));
        all.put("records", new HashSet<>(Set.of(new Pair(1, Colour.GREEN), new Pair(List.of(), Colour.RED))));
        all.put("view", Arrays.<Object>asList("x", null, 7f));
        all.put("list of maps", List.of(Map.of(1, Map.of(2, Map.of(3, Set.of(4))))));
        Holder sent = new Holder(new LinkedHashMap<>(all));

        Holder back = codec().decode(codec().encode(sent));

        assertThat(back.all()).isEqualTo(sent.all());
    }

    private record Holder(LinkedHashMap<String, Object> all) implements Serializable {}

    private static ObjectCodec<Holder> codec() {
        return ObjectCodec.serializable(Holder.class, Pair.class, Colour.class);
    }

    /** Sets in sets, each of which is held once. */
    private static Object nested(int depth) {
        Object below = "bottom";
        for (int i = 0; i < depth; i++) {
            below = new HashSet<>(Set.of(below, i));
        }
        return below;
    }

    /** A set that says that it has nothing to read beside its fields is read with its elements all the same. */
    @Test
    void aTableThatDeniesItsElementsIsRefused() throws IOException {
        byte[] bytes = bytes(new HashSet<>(Set.of("x")));
        int flags = new String(bytes, StandardCharsets.ISO_8859_1).indexOf("HashSet") + 7 + Long.BYTES;
        assertThat(bytes[flags]).isEqualTo((byte) 3);
        bytes[flags] = 2;
        assertThatThrownBy(() -> ObjectCodec.serializable(HashSet.class).decode(bytes))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("the form in which Java writes objects");
    }

    /** Java reads a character in two bytes where it writes one, so that a name can be spelt in many ways. */
    @Test
    void aNameInALongerFormHidesNoTable() throws IOException {
        HashSet<Object> root = new HashSet<>();
        HashSet<Object> left = root;
        HashSet<Object> right = new HashSet<>();
        for (int i = 0; i < DEPTH; i++) {
            HashSet<Object> nextLeft = new HashSet<>(Set.of("not empty"));
            HashSet<Object> nextRight = new HashSet<>();
            link(left, nextLeft, nextRight);
            link(right, nextLeft, nextRight);
            left = nextLeft;
            right = nextRight;
        }
        byte[] bytes = withLongName(bytes(root), "java.util.HashSet");
        assertThatThrownBy(() -> ObjectCodec.serializable(HashSet.class).decode(bytes))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("java.util.HashSet is not in the form in which Java writes it");
    }

    private static byte[] withLongName(byte[] bytes, String name) {
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        StringBuilder spelt = new StringBuilder();
        for (char letter : name.toCharArray()) {
            spelt.append((char) (0xc0 | letter >> 6)).append((char) (0x80 | letter & 0x3f));
        }
        String before = "\0" + (char) name.length() + name;
        assertThat(text).containsOnlyOnce(before);
        return text.replace(before, "\0" + (char) spelt.length() + spelt).getBytes(StandardCharsets.ISO_8859_1);
    }
}
