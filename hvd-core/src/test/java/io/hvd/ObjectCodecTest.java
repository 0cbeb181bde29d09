package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.ObjectStreamConstants;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ObjectCodecTest {
    private enum Mode {
        FAST,
        EXACT
    }

    private record Point(int x, Double y) implements Serializable {}

    private record Plan(String name, Mode mode, Point[] points, long[] counts) implements Serializable {}

    /** Leaves a trace when it is brought back to life, which an undeclared class must not be. */
    private static final class Intruder implements Serializable {
        private static final long serialVersionUID = 1L;
        private static boolean alive;

        private Object readResolve() {
            alive = true;
            return this;
        }
    }

    private record Wrapper(Serializable content) implements Serializable {}

    /** A link of a chain. */
    private record Link(Link next, int number) implements Serializable {
        static Link chain(int length) {
            Link first = null;
            for (int i = 0; i < length; i++) {
                first = new Link(first, i);
            }
            return first;
        }
    }

    private record Unsendable(Object content) implements Serializable {}

    private static <T> T roundTrip(ObjectCodec<T> codec, T value) {
        return codec.decode(codec.encode(value));
    }

    @Test
    void textsAndBytesComeBackAsTheyWere() {
        String text = "Grüße \uD83D\uDE00";
        assertThat(roundTrip(ObjectCodec.utf8(), text)).isEqualTo(text);
        assertThat(roundTrip(ObjectCodec.utf8(), "")).isEmpty();
        assertThat(roundTrip(ObjectCodec.bytes(), new byte[] {1, -1})).containsExactly(1, -1);
    }

    @Test
    void declaredClassesStringsBoxesEnumsAndArraysComeBack() {
        ObjectCodec<Plan> codec = ObjectCodec.serializable(Plan.class, Mode.class, Point.class);
        Plan plan = new Plan("p", Mode.EXACT, new Point[] {new Point(1, 2.5), new Point(3, null)}, new long[] {7, 8});
        assertThat(roundTrip(codec, plan)).usingRecursiveComparison().isEqualTo(plan);
    }

    private record Settings(
            Number rate,
            List<Integer> sizes,
            Map<String, Double> weights,
            Set<Mode> modes,
            Map<String, List<Long>> deep)
            implements Serializable {}

    @Test
    void boxedNumbersAndListsSetsAndMapsOfThemComeBack() {
        ObjectCodec<Settings> codec = ObjectCodec.serializable(Settings.class, Mode.class);
        List<Map<String, Double>> maps =
                List.of(Map.of("a", 0.5, "b", 2.0), new HashMap<>(Map.of("c", 1.0)), new TreeMap<>(Map.of("d", -1.0)));
        List<List<Integer>> lists =
                List.of(List.of(), List.of(1), List.of(1, 2, 3), new ArrayList<>(List.of(4)), Arrays.asList(5, 6));
        for (Map<String, Double> weights : maps) {
            for (List<Integer> sizes : lists) {
                Settings settings = new Settings(
                        1.5f, sizes, weights, new LinkedHashSet<>(List.of(Mode.EXACT)), Map.of("x", List.of(7L)));
                assertThat(roundTrip(codec, settings)).isEqualTo(settings);
            }
        }
        ArrayList<Object> mixed = new ArrayList<>(List.of((byte) 1, (short) 2, 3, 4L, 5f, 6.0, 'c', true, "s"));
        assertThat((Object) roundTrip(ObjectCodec.serializable(ArrayList.class), mixed))
                .isEqualTo(mixed);
        HashMap<String, Integer> many = new HashMap<>();
        IntStream.range(0, 5_000).forEach(i -> many.put("key " + i, i));
        assertThat((Object) roundTrip(ObjectCodec.serializable(HashMap.class), many))
                .isEqualTo(many);
    }

    @Test
    void anUndeclaredClassInAListOrMapIsRefusedByItsNameWithTheCallThatDeclaresIt() {
        Intruder.alive = false;
        for (Object holder :
                List.of(new ArrayList<>(List.of(1, new Intruder())), new HashMap<>(Map.of("k", new Intruder())))) {
            byte[] bytes =
                    ObjectCodec.serializable(Wrapper.class, Intruder.class).encode(new Wrapper((Serializable) holder));
            assertThatThrownBy(() -> ObjectCodec.serializable(Wrapper.class).decode(bytes))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll(
                            Intruder.class.getName(), "ObjectCodec.serializable(Wrapper.class, Intruder.class)");
        }
        assertThat(Intruder.alive).isFalse();
    }

    @Test
    void anUndeclaredClassIsRefusedBeforeItLives() {
        byte[] bytes = ObjectCodec.serializable(Wrapper.class, Intruder.class).encode(new Wrapper(new Intruder()));
        Intruder.alive = false;
        ObjectCodec<Wrapper> strict = ObjectCodec.serializable(Wrapper.class);
        assertThatThrownBy(() -> strict.decode(bytes))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(Wrapper.class.getName());
        assertThat(Intruder.alive).isFalse();
    }

    @Test
    void anArrayThatTheBytesCannotHoldIsRefusedBeforeMemoryIsTakenForIt() {
        ObjectCodec<long[]> codec = ObjectCodec.serializable(long[].class);
        byte[] bytes = codec.encode(new long[] {7});
        int length = bytes.length - Long.BYTES - Integer.BYTES;
        ByteBuffer.wrap(bytes).putInt(length, Integer.MAX_VALUE - 8); // 16 GB

        assertThatThrownBy(() -> codec.decode(bytes))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("an array of " + (Integer.MAX_VALUE - 8) + " elements");
    }

    @Test
    void anUndeclaredClassIsRefusedInsideAnArrayAndAsTheObjectItself() {
        byte[] array =
                ObjectCodec.serializable(Intruder[].class, Intruder.class).encode(new Intruder[1]);
        assertThatThrownBy(() -> ObjectCodec.serializable(String[].class).decode(array))
                .isInstanceOf(IllegalArgumentException.class);
        byte[] list = ObjectCodec.serializable(ArrayList.class).encode(new ArrayList<>(List.of("a")));
        assertThatThrownBy(() -> ObjectCodec.serializable(Plan.class).decode(list))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void typesThatAreAlwaysAllowedMayBeTheObjectItself() {
        assertThat(roundTrip(ObjectCodec.serializable(String.class), "text")).isEqualTo("text");
        assertThat(roundTrip(ObjectCodec.serializable(Boolean.class), true)).isTrue();
        assertThat(roundTrip(ObjectCodec.serializable(Integer.class), 5)).isEqualTo(5);
        assertThat(roundTrip(
                        ObjectCodec.serializable(Point.class, Point.class, Mode.class, Mode.class), new Point(1, 2.0)))
                .isEqualTo(new Point(1, 2.0));
    }

    @Test
    void anAllowedObjectOfAnotherTypeIsRefusedWithTheTypeThatWasExpected() {
        byte[] text = ObjectCodec.serializable(String.class).encode("no point");
        assertThatThrownBy(() -> ObjectCodec.serializable(Point.class).decode(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(Point.class.getName());
    }

    @Test
    void bytesThatAreNoObjectAreRefused() {
        assertThatThrownBy(() -> ObjectCodec.serializable(Point.class).decode(new byte[] {1, 2, 3}))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(Point.class.getName());
    }

    @Test
    void aChainAsLongAsIsPromisedComesBack() {
        Link last = roundTrip(ObjectCodec.serializable(Link.class), Link.chain(SerializableCodec.DEEPEST));
        int links = 0;
        for (Link link = last; link != null; link = link.next()) {
            links++;
        }
        assertThat(links).isEqualTo(SerializableCodec.DEEPEST);
    }

    @Test
    void aChainThatIsTooLongForTheStackIsRefusedInWords() {
        ObjectCodec<Link> codec = ObjectCodec.serializable(Link.class);
        assertThatThrownBy(() -> codec.encode(Link.chain(100_000)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(Link.class.getName())
                .hasMessageContaining("at most 500")
                .hasMessageContaining("into a list");
    }

    @Test
    void aChainThatIsTooLongInTheBytesIsRefusedInWords() throws Exception {
        byte[] bytes = encodedWithMuchStack(5_000);
        assertThatThrownBy(() -> ObjectCodec.serializable(Link.class).decode(bytes))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(Link.class.getName())
                .hasMessageContaining("nested deeper than 500");
    }

    @Test
    void whatIsNotSerializableIsNamed() {
        assertThatThrownBy(() -> ObjectCodec.serializable(Unsendable.class).encode(new Unsendable(new Object())))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(Unsendable.class.getName())
                .hasMessageContaining("java.lang.Object");
    }

    /** Each class is the superclass of the one before; none of them exists. */
    @Test
    void aFamilyOfClassesWithoutEndIsRefused() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeShort(ObjectStreamConstants.STREAM_MAGIC);
        out.writeShort(ObjectStreamConstants.STREAM_VERSION);
        out.writeByte(ObjectStreamConstants.TC_OBJECT);
        for (int i = 0; i < 100_000; i++) {
            out.writeByte(ObjectStreamConstants.TC_CLASSDESC);
            out.writeUTF("no.such.Class" + i);
            out.writeLong(i);
            out.writeByte(ObjectStreamConstants.SC_SERIALIZABLE);
            out.writeShort(0);
            out.writeByte(ObjectStreamConstants.TC_ENDBLOCKDATA);
        }
        assertThatThrownBy(() -> ObjectCodec.serializable(Link.class).decode(bytes.toByteArray()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(Link.class.getName());
    }

    /** Most variants are refused, some are other objects of the type; nothing else comes out. */
    @Test
    void damagedBytesAreRefusedOrAnotherObjectOfTheType() {
        ObjectCodec<Plan> codec = ObjectCodec.serializable(Plan.class, Mode.class, Point.class);
        byte[] whole = codec.encode(
                new Plan("p", Mode.EXACT, new Point[] {new Point(1, 2.5), new Point(3, null)}, new long[] {7, 8}));
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        int refused = 0;
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = Arrays.copyOf(whole, random.nextInt(8) == 0 ? random.nextInt(whole.length) : whole.length);
            for (int changes = 1 + random.nextInt(4); changes > 0 && bytes.length > 0; changes--) {
                bytes[random.nextInt(bytes.length)] = (byte)
                        (random.nextBoolean() ? ObjectStreamConstants.TC_BASE + random.nextInt(16) : random.nextInt());
            }
            try {
                codec.decode(bytes);
            } catch (IllegalArgumentException e) {
                assertThat(e).hasMessageContaining(Plan.class.getName());
                refused++;
            } catch (RuntimeException | Error e) {
                throw new AssertionError("seed " + seed + ", " + HexFormat.of().formatHex(bytes), e);
            }
        }
        assertThat(refused).isGreaterThan(10_000);
    }

    private static byte[] encodedWithMuchStack(int links) throws InterruptedException {
        byte[][] bytes = new byte[1][];
        Thread encoder = new Thread(
                null,
                () -> bytes[0] = ObjectCodec.serializable(Link.class).encode(Link.chain(links)),
                "much-stack",
                1L << 28);
        encoder.start();
        encoder.join();
        return bytes[0];
    }
}
