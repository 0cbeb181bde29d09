package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.testing.StandardError;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Thousands of damaged files: none is read without a word, and none throws anything but what is documented. */
class CheckpointFuzzTest {
    /** More in the long tier; Maven hands the property on only where it is given on the command line. */
    private static final int VARIANTS = "".equals(System.getProperty("hvd.excludedGroups")) ? 1_000 : 250;

    private static final String NO_CHECKSUM = "has no checksum";

    @TempDir
    Path folder;

    private Path file;
    private byte[] whole;

    /** One way to damage a file; each may give back what it was given, which does not count. */
    private enum Damage {
        FLIPPED_BITS {
            @Override
            byte[] to(byte[] whole, Random random) {
                byte[] bytes = whole.clone();
                for (int flips = 1 + random.nextInt(3); flips > 0; flips--) {
                    bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
                }
                return bytes;
            }
        },
        TRUNCATED {
            @Override
            byte[] to(byte[] whole, Random random) {
                return Arrays.copyOf(whole, random.nextInt(whole.length));
            }
        },
        EXTENDED {
            @Override
            byte[] to(byte[] whole, Random random) {
                byte[] bytes = Arrays.copyOf(whole, whole.length + 1 + random.nextInt(64));
                for (int i = whole.length; i < bytes.length; i++) {
                    bytes[i] = (byte) (random.nextBoolean() ? 0 : random.nextInt());
                }
                return bytes;
            }
        },
        SWAPPED_RANGES {
            @Override
            byte[] to(byte[] whole, Random random) {
                int length = 1 + random.nextInt(whole.length / 2);
                int first = random.nextInt(whole.length - 2 * length + 1);
                int second = first + length + random.nextInt(whole.length - first - 2 * length + 1);
                byte[] bytes = whole.clone();
                System.arraycopy(whole, first, bytes, second, length);
                System.arraycopy(whole, second, bytes, first, length);
                return bytes;
            }
        },
        BLANKED_RANGE {
            @Override
            byte[] to(byte[] whole, Random random) {
                int from = random.nextInt(whole.length);
                int to = from + 1 + random.nextInt(whole.length - from);
                byte[] bytes = whole.clone();
                Arrays.fill(bytes, from, to, new byte[] {0, -1, ' ', '0'}[random.nextInt(4)]);
                return bytes;
            }
        },
        /** The length in front of the header says what it has then. */
        CHANGED_HEADER {
            @Override
            byte[] to(byte[] whole, Random random) {
                int length = (int)
                        ByteBuffer.wrap(whole).order(ByteOrder.LITTLE_ENDIAN).getLong();
                StringBuilder header = new StringBuilder(new String(whole, 8, length, StandardCharsets.UTF_8));
                for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                    change(header, random);
                }
                byte[] changed = header.toString().getBytes(StandardCharsets.UTF_8);
                byte[] bytes = new byte[whole.length - length + changed.length];
                ByteBuffer.wrap(bytes)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putLong(changed.length)
                        .put(changed)
                        .put(whole, 8 + length, whole.length - 8 - length);
                return bytes;
            }
        };

        private static final String[] FRAGMENTS = {
            "0",
            "1",
            "-1",
            "9999999999999999999",
            "1e3",
            "4.0",
            "null",
            "true",
            "\"",
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "[[[[",
            "\\ud83d",
            "\"F64\"",
            "\"shape\"",
            "\"__metadata__\":{},",
            "hvd.",
            "\u0000"
        };

        abstract byte[] to(byte[] whole, Random random);

        private static void change(StringBuilder header, Random random) {
            int at = random.nextInt(header.length());
            String fragment = FRAGMENTS[random.nextInt(FRAGMENTS.length)];
            switch (random.nextInt(3)) {
                case 0 -> header.insert(at, fragment);
                case 1 -> header.deleteCharAt(at);
                default -> header.replace(at, Math.min(header.length(), at + fragment.length()), fragment);
            }
        }
    }

    @BeforeEach
    void write() throws IOException {
        file = folder.resolve("net.safetensors");
        Random random = new Random(7);
        Map<String, Tensor> tensors = new HashMap<>();
        tensors.put("conv.weight", floats(random, 4, 3));
        tensors.put("conv.bias", floats(random, 4));
        tensors.put("half", Tensor.wrap(new short[] {1, 2, 3}, DType.FLOAT16, Shape.of(3)));
        tensors.put("empty", Tensor.zeros(DType.FLOAT64, Shape.of(2, 0)));
        tensors.put("count", Tensor.wrap(new long[] {42}, DType.INT64, Shape.scalar()));
        tensors.put("optimizer.state", Tensor.ofBytes(new byte[] {5, 6, 7, 8, 9}));
        Map<String, String> words = new LinkedHashMap<>();
        words.put("epochs", "3");
        words.put("note", "\"quoted\" \u00fc");
        new Checkpoint(new TreeMap<>(tensors), words).write(file);
        whole = Files.readAllBytes(file);
    }

    @Test
    void everySingleFlippedBitIsRefused() throws IOException {
        for (int bit = 0; bit < 8 * whole.length; bit++) {
            byte[] bytes = whole.clone();
            bytes[bit / 8] ^= (byte) (1 << bit % 8);
            assertRefused(bytes, "bit " + bit);
        }
    }

    @ParameterizedTest
    @EnumSource(Damage.class)
    void everyDamagedFileIsRefused(Damage damage) throws IOException {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (int i = 0; i < VARIANTS; i++) {
            byte[] bytes = damage.to(whole, random);
            if (!Arrays.equals(bytes, whole)) {
                assertRefused(bytes, damage + " number " + i + " of seed " + seed);
            }
        }
    }

    /** Without a checksum nobody can tell; but it is said, and nothing else goes wrong. */
    @ParameterizedTest
    @EnumSource(Damage.class)
    void aDamagedFileOfAnotherProgramIsRefusedOrSaidToBeUnverified(Damage damage) throws Exception {
        byte[] foreign = withoutWords(whole);
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (int i = 0; i < VARIANTS; i++) {
            Files.write(file, damage.to(foreign, random));
            Throwable[] thrown = new Throwable[1];
            String said = StandardError.during(() -> thrown[0] = catchThrowable(() -> Checkpoint.read(file)));
            String which = damage + " number " + i + " of seed " + seed;
            if (thrown[0] == null) {
                assertThat(said).as(which).contains(NO_CHECKSUM);
            } else {
                assertDocumented(thrown[0], which, Files.readAllBytes(file));
            }
        }
    }

    private void assertRefused(byte[] bytes, String which) throws IOException {
        Files.write(file, bytes);
        assertDocumented(catchThrowable(() -> Checkpoint.read(file)), which, bytes);
    }

    private void assertDocumented(Throwable thrown, String which, byte[] bytes) {
        assertThat(thrown)
                .as("%s: %s", which, HexFormat.of().formatHex(bytes))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_CHECKPOINT))
                .hasMessageContaining(file.toString());
    }

    /** Writes the same tensors as another program would. */
    private static byte[] withoutWords(byte[] whole) {
        int length = (int) ByteBuffer.wrap(whole).order(ByteOrder.LITTLE_ENDIAN).getLong();
        String header = new String(whole, 8, length, StandardCharsets.UTF_8);
        byte[] bare = header.replaceFirst("\"__metadata__\":\\{[^}]*}\\s*,", "")
                .replaceAll("[\t\n]", "")
                .getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(whole.length - length + bare.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(bare.length)
                .put(bare)
                .put(whole, 8 + length, whole.length - 8 - length)
                .array();
    }

    private static Tensor floats(Random random, long... dims) {
        Shape shape = Shape.of(dims);
        float[] values = new float[(int) shape.elements()];
        for (int i = 0; i < values.length; i++) {
            values[i] = random.nextFloat();
        }
        return Tensor.wrap(values, DType.FLOAT32, shape);
    }
}
