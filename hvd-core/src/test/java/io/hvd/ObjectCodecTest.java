package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
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
                .hasMessageContaining("REJECTED");
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
}
