package io.hvd.train;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Named tensors and a few words about them in one file of the safetensors format: eight bytes of
 * header length, a JSON header with type, shape and place of every tensor, then their bytes.
 *
 * @param tensors by name; on the host
 * @param metadata by key, such as the epoch
 * @see <a href="https://github.com/huggingface/safetensors">the format</a>
 */
public record Checkpoint(SortedMap<String, Tensor> tensors, Map<String, String> metadata) {
    private static final Map<DType, String> NAMES = Map.of(
            DType.FLOAT32, "F32",
            DType.FLOAT64, "F64",
            DType.INT32, "I32",
            DType.INT64, "I64",
            DType.INT8, "I8",
            DType.UINT8, "U8",
            DType.FLOAT16, "F16",
            DType.BFLOAT16, "BF16");
    private static final String METADATA = "__metadata__";
    private static final long LARGEST_HEADER = 100L << 20;

    /**
     * Writes the file so that it is either there as a whole or as it was before: a temporary file
     * beside it is written, forced to the disk and renamed. Only one rank may do it.
     */
    public void write(Path file) throws IOException {
        Path folder = file.toAbsolutePath().getParent();
        Path temporary = Files.createTempFile(folder, file.getFileName().toString(), ".tmp");
        try {
            try (FileChannel channel = FileChannel.open(temporary, StandardOpenOption.WRITE)) {
                byte[] header = header().toString().getBytes(StandardCharsets.UTF_8);
                ByteBuffer length =
                        ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(header.length);
                writeFully(channel, length.flip());
                writeFully(channel, ByteBuffer.wrap(header));
                for (Tensor tensor : tensors.values()) {
                    writeFully(channel, bytesOf(tensor));
                }
                channel.force(true);
            }
            Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(temporary);
        }
    }

    /**
     * @throws HvdException if the file is damaged; the message says where
     */
    public static Checkpoint read(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            ByteBuffer length = read(channel, file, 8).order(ByteOrder.LITTLE_ENDIAN);
            long headerBytes = length.getLong();
            if (headerBytes < 2 || headerBytes > LARGEST_HEADER || headerBytes > channel.size()) {
                throw damaged(file, "its header claims " + headerBytes + " bytes");
            }
            ByteBuffer header = read(channel, file, (int) headerBytes);
            return read(
                    channel,
                    file,
                    parse(file, StandardCharsets.UTF_8.decode(header).toString()),
                    8 + headerBytes);
        }
    }

    private static Checkpoint read(FileChannel channel, Path file, JsonObject header, long start) throws IOException {
        SortedMap<String, Tensor> tensors = new TreeMap<>();
        Map<String, String> metadata = new LinkedHashMap<>();
        for (Map.Entry<String, JsonElement> entry : header.entrySet()) {
            JsonObject value = entry.getValue().getAsJsonObject();
            if (entry.getKey().equals(METADATA)) {
                value.entrySet()
                        .forEach(pair ->
                                metadata.put(pair.getKey(), pair.getValue().getAsString()));
            } else {
                tensors.put(entry.getKey(), tensor(channel, file, entry.getKey(), value, start));
            }
        }
        return new Checkpoint(tensors, metadata);
    }

    private static Tensor tensor(FileChannel channel, Path file, String name, JsonObject entry, long start)
            throws IOException {
        String typeName = entry.get("dtype").getAsString();
        DType type = NAMES.entrySet().stream()
                .filter(pair -> pair.getValue().equals(typeName))
                .map(Map.Entry::getKey)
                .findFirst()
                .orElseThrow(() -> damaged(file, "tensor \"" + name + "\" has the unknown type " + typeName));
        long[] dims = entry.getAsJsonArray("shape").asList().stream()
                .mapToLong(JsonElement::getAsLong)
                .toArray();
        long from = entry.getAsJsonArray("data_offsets").get(0).getAsLong();
        long to = entry.getAsJsonArray("data_offsets").get(1).getAsLong();
        Shape shape = Shape.of(dims);
        if (to - from != shape.elements() * type.bytes()) {
            throw damaged(file, "tensor \"" + name + "\" of " + type + shape + " has " + (to - from) + " bytes");
        }
        channel.position(start + from);
        ByteBuffer bytes = ByteBuffer.allocateDirect(Math.toIntExact(to - from));
        fill(channel, file, bytes);
        return Tensor.wrap(bytes, type, shape);
    }

    private JsonObject header() {
        JsonObject header = new JsonObject();
        JsonObject words = new JsonObject();
        metadata.forEach(words::addProperty);
        header.add(METADATA, words);
        long at = 0;
        for (Map.Entry<String, Tensor> entry : tensors.entrySet()) {
            Tensor tensor = entry.getValue();
            JsonObject value = new JsonObject();
            value.addProperty("dtype", NAMES.get(tensor.dtype()));
            value.add("shape", array(tensor.shape().toArray()));
            value.add("data_offsets", array(at, at + tensor.bytes()));
            header.add(entry.getKey(), value);
            at += tensor.bytes();
        }
        return header;
    }

    private static JsonArray array(long... values) {
        JsonArray array = new JsonArray();
        for (long value : values) {
            array.add(value);
        }
        return array;
    }

    private static ByteBuffer bytesOf(Tensor tensor) {
        ByteBuffer bytes =
                ByteBuffer.allocateDirect(Math.toIntExact(tensor.bytes())).order(ByteOrder.nativeOrder());
        Tensor.wrap(bytes, tensor.dtype(), tensor.shape()).copyFrom(tensor);
        return bytes;
    }

    private static JsonObject parse(Path file, String header) {
        try {
            return JsonParser.parseString(header).getAsJsonObject();
        } catch (JsonParseException | IllegalStateException e) {
            throw damaged(file, "its header is no JSON: " + e.getMessage());
        }
    }

    private static ByteBuffer read(FileChannel channel, Path file, int count) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(count);
        fill(channel, file, bytes);
        return bytes;
    }

    private static void fill(FileChannel channel, Path file, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            if (channel.read(bytes) < 0) {
                throw damaged(file, "it ends " + bytes.remaining() + " bytes too early");
            }
        }
        bytes.rewind();
    }

    private static void writeFully(FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    private static HvdException damaged(Path file, String how) {
        return new HvdException(ErrorId.BAD_CHECKPOINT, file + " is no whole checkpoint: " + how);
    }
}
