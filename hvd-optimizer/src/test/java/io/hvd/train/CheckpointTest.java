package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.file.WholeFileProgram;
import io.hvd.optimizer.NamedState;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.testing.StandardError;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class CheckpointTest {
    @TempDir
    Path folder;

    private static final Map<String, String> NO_WORDS = Map.of();

    @ParameterizedTest
    @EnumSource(DType.class)
    void everyTypeComesBackAsItWas(DType type) throws IOException {
        Tensor tensor = pattern(type, 2, 3);
        Path file = write(Map.of("t", tensor), NO_WORDS);

        Tensor read = Checkpoint.read(file).tensors().get("t");

        assertThat(read.dtype()).isEqualTo(type);
        assertThat(read.shape()).isEqualTo(Shape.of(2, 3));
        assertThat(read.toArray()).isEqualTo(tensor.toArray());
    }

    /** Older files have the state as the bytes of one tensor, under the name itself or behind it. */
    @Test
    void anOptimizersStateIsFoundAgainByItsNameAndInOlderFilesToo() throws IOException {
        NamedState state = new NamedState(
                new TreeMap<>(Map.of("exp_avg.w", Tensor.of(1f, 2f))), new TreeMap<>(Map.of("steps", "3")));
        Path file = folder.resolve("state.safetensors");
        new Checkpoint(new TreeMap<>(Map.of("w", Tensor.of(5f))), Map.of("epochs", "1"))
                .withState("adam", state)
                .write(file);
        Checkpoint read = Checkpoint.read(file);
        assertThat(read.tensors()).containsOnlyKeys("w", "adam.exp_avg.w");
        assertThat(read.metadata()).containsEntry("adam.steps", "3").containsEntry("epochs", "1");
        NamedState found = read.state("adam");
        assertThat(found.words()).isEqualTo(state.words());
        assertThat(found.tensors()).containsOnlyKeys("exp_avg.w");
        assertThat(found.tensors().get("exp_avg.w").toFloatArray()).containsExactly(1, 2);
        assertThatThrownBy(() -> read.state("sgd"))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                .hasMessageContaining("\"sgd.\"");
        for (String name : List.of("adam", "adam.state")) {
            Tensor bytes = Tensor.ofBytes(new byte[] {7, 8});
            Checkpoint older = new Checkpoint(new TreeMap<>(Map.of(name, bytes)), Map.of());
            assertThat(older.state("adam").bytes()).hasValue(new byte[] {7, 8});
        }
    }

    @Test
    void manyTensorsAndWordsComeBackUnderTheirNames() throws IOException {
        Map<String, Tensor> tensors = mixed();
        Path file = write(tensors, Map.of("epoch", "7", "quote", "\"a\\b\"\nü"));

        Checkpoint read = Checkpoint.read(file);

        assertThat(read.metadata()).containsExactlyInAnyOrderEntriesOf(Map.of("epoch", "7", "quote", "\"a\\b\"\nü"));
        assertThat(read.tensors().keySet()).containsExactlyElementsOf(new TreeMap<>(tensors).keySet());
        tensors.forEach((name, tensor) -> {
            assertThat(read.tensors().get(name).toArray()).as(name).isEqualTo(tensor.toArray());
            assertThat(read.tensors().get(name).shape()).isEqualTo(tensor.shape());
        });
    }

    @Test
    void tensorsOnDirectMemoryAreWrittenToo() throws IOException {
        ByteBuffer direct = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder());
        direct.putFloat(1.5f).putFloat(-2).flip();
        Path file = write(Map.of("t", Tensor.wrap(direct, DType.FLOAT32, Shape.of(2))), NO_WORDS);
        assertThat(Checkpoint.read(file).tensors().get("t").toFloatArray()).containsExactly(1.5f, -2);
    }

    /** The rules that other readers of the format check: contiguous, complete, aligned. */
    @Test
    void theFileIsLaidOutAsTheFormatSays() throws IOException {
        byte[] bytes = Files.readAllBytes(write(mixed(), Map.of("epoch", "7")));

        long length = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong();
        String header = new String(bytes, 8, (int) length, StandardCharsets.UTF_8);
        assertThat(header).startsWith("{");
        assertThat((8 + length) % 8).as("the data begin at a multiple of 8").isZero();
        JsonObject json = JsonParser.parseString(header).getAsJsonObject();
        assertThat(json.getAsJsonObject("__metadata__").get("epoch").getAsString())
                .isEqualTo("7");
        List<long[]> places = new ArrayList<>();
        for (Map.Entry<String, JsonElement> entry : json.entrySet()) {
            if (!entry.getKey().equals("__metadata__")) {
                JsonObject value = entry.getValue().getAsJsonObject();
                assertThat(value.keySet()).containsExactlyInAnyOrder("dtype", "shape", "data_offsets");
                JsonArray offsets = value.getAsJsonArray("data_offsets");
                long from = offsets.get(0).getAsLong();
                places.add(new long[] {from, offsets.get(1).getAsLong()});
                int bits = Integer.parseInt(value.get("dtype").getAsString().replaceAll("[^0-9]", ""));
                assertThat(from % (bits / 8)).as(entry.getKey()).isZero();
            }
        }
        places.sort((a, b) -> a[0] != b[0] ? Long.compare(a[0], b[0]) : Long.compare(a[1], b[1]));
        long at = 0;
        for (long[] place : places) {
            assertThat(place[0]).as("no gaps").isEqualTo(at);
            at = place[1];
        }
        assertThat(bytes.length).as("no rest").isEqualTo(8 + length + at);
    }

    @Test
    void numbersAreLittleEndian() throws IOException {
        byte[] bytes = Files.readAllBytes(write(Map.of("t", Tensor.of(0x01020304)), NO_WORDS));
        assertThat(bytes).endsWith(4, 3, 2, 1);
    }

    @Test
    void anExceptionWhileWritingLeavesTheOldFileAndNothingElse() throws IOException {
        Path file = write(Map.of("t", Tensor.of(1f, 2f)), Map.of("epoch", "1"));
        Tensor unreachable = Tensor.onDevice(4096, Device.cuda(0), 0, DType.FLOAT32, Shape.of(1));
        var broken = new Checkpoint(new TreeMap<>(Map.of("a", Tensor.of(9f), "b", unreachable)), NO_WORDS);

        assertThatThrownBy(() -> broken.write(file)).hasMessageContaining("cuda");

        Checkpoint read = Checkpoint.read(file);
        assertThat(read.metadata()).containsEntry("epoch", "1");
        assertThat(read.tensors().get("t").toFloatArray()).containsExactly(1, 2);
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactly(file);
        }
    }

    @Test
    void whatAKilledSaveHasLeftIsDeletedByTheNextOne() throws IOException {
        Path file = write(Map.of("t", Tensor.of(1f)), NO_WORDS);
        WholeFileProgram.beginAndBeKilled(file);

        write(Map.of("t", Tensor.of(2f)), NO_WORDS);

        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactly(file);
        }
        assertThat(Checkpoint.read(file).tensors().get("t").item()).isEqualTo(2);
    }

    @Test
    void aLaterCheckpointReplacesTheEarlierOne() throws IOException {
        write(Map.of("t", Tensor.of(1f, 2f), "gone", Tensor.of(1f)), NO_WORDS);
        Path file = write(Map.of("t", Tensor.of(3f)), NO_WORDS);
        assertThat(Checkpoint.read(file).tensors().keySet()).containsExactly("t");
        assertThat(Checkpoint.read(file).tensors().get("t").item()).isEqualTo(3);
    }

    /** The words of another program that reads the file have the checksum among them, and nobody else needs it. */
    @Test
    void theChecksumIsThatOfTheWholeFileWithItsOwnDigitsTakenForZeros() throws IOException {
        byte[] bytes = Files.readAllBytes(write(mixed(), Map.of("epoch", "7")));
        String digits = new String(bytes, 39, 8, StandardCharsets.US_ASCII);

        Arrays.fill(bytes, 39, 47, (byte) '0');
        CRC32C sum = new CRC32C();
        sum.update(bytes);

        assertThat(digits)
                .isEqualTo(String.format(Locale.ROOT, "%08x", sum.getValue()))
                .isNotEqualTo("00000000");
        JsonObject words = header(bytes).getAsJsonObject("__metadata__");
        assertThat(words.keySet()).containsExactly("hvd.crc32c", "epoch");
    }

    @Test
    void whatIsReadHasTheWordsThatWereWrittenAndCanBeWrittenAgain() throws IOException {
        Path file = write(mixed(), Map.of("epoch", "7"));
        byte[] first = Files.readAllBytes(file);
        Checkpoint.read(file).write(file);
        assertThat(file).hasBinaryContent(first);
    }

    @Test
    void aDamagedTensorIsNamedWithTheChecksumFoundAndTheOneExpected() throws IOException {
        Path file = write(Map.of("w", Tensor.of(1f, 2f, 3f)), NO_WORDS);
        byte[] bytes = Files.readAllBytes(file);
        String expected = new String(bytes, 39, 8, StandardCharsets.US_ASCII);
        bytes[bytes.length - 1] ^= 1;
        Files.write(file, bytes);
        Arrays.fill(bytes, 39, 47, (byte) '0');
        CRC32C sum = new CRC32C();
        sum.update(bytes);

        assertDamaged(file, "CRC-32C is " + String.format(Locale.ROOT, "%08x", sum.getValue()), "expected " + expected);
    }

    @Test
    void aFileWhoseWordOfTheChecksumIsDamagedCountsAsDamaged() throws IOException {
        Path file = write(Map.of("w", Tensor.of(1f, 2f, 3f)), NO_WORDS);
        String text = new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
        Files.writeString(file, text.replace("hvd.crc32c", "txt.crc32c"), StandardCharsets.ISO_8859_1);
        assertDamaged(file, "no \"hvd.crc32c\"");
    }

    @Test
    void aFileWithoutAChecksumIsReadAndSaidToBeUnverifiedAndOneOfHvdsIsNot() throws Exception {
        Path foreign = fileWithHeader("{\"w\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2);
        Path ours = write(Map.of("w", Tensor.of(1f)), NO_WORDS);

        String said = StandardError.during(
                () -> assertThat(Checkpoint.read(foreign).tensors().get("w").toFloatArray())
                        .containsExactly(1, 2));

        assertThat(said).contains(foreign.toString(), "has no checksum");
        assertThat(StandardError.during(() -> Checkpoint.read(ours))).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"hvd.crc32c", "hvd.mine"})
    void aWordOfHvdsOwnIsRefused(String key) {
        assertRefused(Map.of(), Map.of(key, "1"), key, "\"hvd.\"");
    }

    @Test
    void whatOtherReadersWouldNotTakeIsRefusedAndNothingIsWritten() {
        assertRefused(Map.of("__metadata__", Tensor.of(1f)), NO_WORDS, "__metadata__");
        assertRefused(Map.of("half \ud83d", Tensor.of(1f)), NO_WORDS, "UTF-16");
        assertRefused(Map.of(), Map.of("long", "x".repeat(100_000_000)), "header of 1000", "allows 100000000");
        Map<String, String> none = new HashMap<>();
        none.put("epoch", null);
        assertRefused(Map.of(), none, "epoch", "null");
    }

    /** A direct buffer each would keep the garbage collector busy for as long as there are tensors, again and again. */
    @Test
    void manyEmptyTensorsTakeNoBufferEach() throws IOException {
        int count = 50_000;
        StringBuilder header = new StringBuilder("{");
        for (int i = 0; i < count; i++) {
            header.append(i == 0 ? "" : ",")
                    .append("\"t")
                    .append(i)
                    .append("\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}");
        }
        Path file = fileWithHeader(header.append('}').toString(), 0);
        BufferPoolMXBean direct = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .findFirst()
                .orElseThrow();
        long before = direct.getCount();

        Checkpoint read = Checkpoint.read(file);

        assertThat(direct.getCount() - before).isLessThan(1_000);
        assertThat(read.tensors()).hasSize(count);
        Files.write(file, new byte[] {1}, StandardOpenOption.APPEND);
        assertDamaged(file, "0 bytes", "1 bytes");
    }

    @Test
    void everyTruncatedFileIsNamed() throws IOException {
        Path file = write(Map.of("w", Tensor.of(1f, 2f, 3f)), Map.of("epoch", "7"));
        byte[] whole = Files.readAllBytes(file);
        for (int length = 0; length < whole.length; length++) {
            Files.write(file, Arrays.copyOf(whole, length));
            assertDamaged(file);
        }
    }

    @Test
    void aFileWithARestIsNamed() throws IOException {
        Path file = write(Map.of("w", Tensor.of(1f)), NO_WORDS);
        Files.write(file, Arrays.copyOf(Files.readAllBytes(file), (int) Files.size(file) + 3));
        assertDamaged(file, "4 bytes", "7 bytes");
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 0, 1, 1L << 40, Long.MAX_VALUE})
    void aHeaderOfAnImpossibleLengthIsNamedWithIt(long length) throws IOException {
        Path file = folder.resolve("damaged");
        Files.write(
                file,
                ByteBuffer.allocate(64)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putLong(length)
                        .array());
        assertDamaged(file, String.valueOf(length));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "not json",
                "[1, 2]",
                "{\"w\": 5}",
                "{\"w\": {}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": [1]}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0]}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": \"many\", \"data_offsets\": [0, 4]}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": [-1], \"data_offsets\": [0, 4]}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [-4, 0]}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [4, 8]}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": [500000000], \"data_offsets\": [0, 2000000000]}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0, 4, 8]}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [4, 0]}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": [1.0], \"data_offsets\": [0, 4]}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": [1], \"shape\": [1], \"data_offsets\": [0, 4]}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": [4294967296, 4294967296], \"data_offsets\": [0, 4]}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0, 99999999999999999999]}}",
                "{\"w\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0, 4]}} {}",
                "{'w': {'dtype': 'F32', 'shape': [1], 'data_offsets': [0, 4]}}",
                "{\"__metadata__\": {\"epoch\": [1, 2]}}",
                "{\"__metadata__\": {\"epoch\": 7}}",
                "{\"__metadata__\": {\"epoch\": \"7\", \"epoch\": \"8\"}}",
            })
    void aHeaderThatMakesNoSenseIsNamed(String header) throws IOException {
        assertDamaged(fileWithHeader(header, 4));
    }

    @Test
    void aTensorWhoseBytesDoNotFitItsShapeIsNamedWithBoth() throws IOException {
        Path file = fileWithHeader("{\"w\": {\"dtype\": \"F32\", \"shape\": [2, 3], \"data_offsets\": [0, 20]}}", 20);
        assertDamaged(file, "\"w\"", "[2, 3]", "20 bytes");
    }

    @Test
    void tensorsThatOverlapOrLeaveAGapAreNamedWithTheirPlace() throws IOException {
        String twice = "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                + "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[%d,%d]}}";
        assertDamaged(fileWithHeader(String.format(Locale.ROOT, twice, 0, 4), 8), "\"b\"", "byte 0", "expected 4");
        assertDamaged(fileWithHeader(String.format(Locale.ROOT, twice, 2, 6), 8), "\"b\"", "byte 2", "expected 4");
        assertDamaged(fileWithHeader(String.format(Locale.ROOT, twice, 5, 9), 8), "\"b\"", "byte 5", "expected 4");
        String same = "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                + "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}";
        assertDamaged(fileWithHeader(same, 8), "\"a\" twice");
    }

    @Test
    void aNameThatIsNoTextIsDamageAndNotReplaced() throws IOException {
        String header = "{\"w\u00e9\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}";
        Path file = fileWithHeader(header, 4);
        byte[] bytes = Files.readAllBytes(file);
        assertThat(bytes[8 + 3]).isEqualTo((byte) 0xc3);
        bytes[8 + 3] = (byte) 0xff;
        Files.write(file, bytes);
        assertDamaged(file);
    }

    @Test
    void aFolderIsNotCalledDamagedAndIsNamed() {
        assertThatThrownBy(() -> Checkpoint.read(folder))
                .isInstanceOf(FileSystemException.class)
                .hasMessageContaining(folder.toString());
    }

    @Test
    void aTypeThatIsNotKnownIsNamed() throws IOException {
        Path file = fileWithHeader("{\"w\": {\"dtype\": \"U24\", \"shape\": [4], \"data_offsets\": [0, 4]}}", 4);
        assertDamaged(file, "\"w\"", "U24");
    }

    @Test
    void aFileThatIsNotThereIsNotCalledDamaged() {
        assertThatThrownBy(() -> Checkpoint.read(folder.resolve("nowhere"))).isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void aFileOfAnotherWriterWithPaddingAndWithoutWordsIsRead() throws IOException {
        Path file = fileWithHeader(
                "{\"b\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[4,5]},"
                        + "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}      ",
                5);
        Checkpoint read = Checkpoint.read(file);
        assertThat(read.metadata()).isEmpty();
        assertThat(read.tensors().get("b").shape()).isEqualTo(Shape.scalar());
        assertThat(read.tensors().get("b").item()).isEqualTo(5);
        assertThat(read.tensors().get("a").shape()).isEqualTo(Shape.of(1));
    }

    private Path write(Map<String, Tensor> tensors, Map<String, String> words) throws IOException {
        Path file = folder.resolve("model.safetensors");
        new Checkpoint(new TreeMap<>(tensors), words).write(file);
        return file;
    }

    /** A file with this header and data bytes 1, 2, 3 and so on. */
    private Path fileWithHeader(String header, int dataBytes) throws IOException {
        byte[] words = header.getBytes(StandardCharsets.UTF_8);
        ByteBuffer bytes = ByteBuffer.allocate(8 + words.length + dataBytes).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(words.length).put(words);
        for (int i = 1; i <= dataBytes; i++) {
            bytes.put((byte) i);
        }
        return Files.write(folder.resolve("damaged"), bytes.array());
    }

    private void assertRefused(Map<String, Tensor> tensors, Map<String, String> words, String... facts) {
        assertThatThrownBy(() -> write(tensors, words))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_ARGUMENT))
                .hasMessageContainingAll(facts);
        assertThat(folder).isEmptyDirectory();
    }

    private static JsonObject header(byte[] file) {
        int length = (int) ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).getLong();
        return JsonParser.parseString(new String(file, 8, length, StandardCharsets.UTF_8))
                .getAsJsonObject();
    }

    private static void assertDamaged(Path file, String... facts) {
        assertThatThrownBy(() -> Checkpoint.read(file))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_CHECKPOINT))
                .hasMessageContaining(file.toString())
                .satisfies(e -> {
                    for (String fact : facts) {
                        assertThat(e).hasMessageContaining(fact);
                    }
                });
    }

    /** Names whose order puts odd sizes before wide elements. */
    private static Map<String, Tensor> mixed() {
        Map<String, Tensor> tensors = new TreeMap<>();
        tensors.put("a.state", Tensor.ofBytes(new byte[] {1, 2, 3}));
        tensors.put("b.half", pattern(DType.FLOAT16, 3));
        tensors.put("c.empty", Tensor.zeros(DType.FLOAT32, Shape.of(0, 5)));
        tensors.put("d.weight", pattern(DType.FLOAT32, 3, 1));
        tensors.put("e.count", Tensor.wrap(new long[] {42}, DType.INT64, Shape.scalar()));
        return tensors;
    }

    private static Tensor pattern(DType type, long... dims) {
        Shape shape = Shape.of(dims);
        int count = (int) shape.elements();
        ByteBuffer bytes = ByteBuffer.allocateDirect(count * type.bytes()).order(ByteOrder.nativeOrder());
        for (int i = 0; i < bytes.capacity(); i++) {
            bytes.put(i, (byte) (37 * i + 11));
        }
        return Tensor.wrap(bytes, type, shape);
    }
}
