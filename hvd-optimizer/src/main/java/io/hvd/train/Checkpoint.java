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
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
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
    private static final Map<DType, String> NAMES = Map.ofEntries(
            Map.entry(DType.FLOAT32, "F32"),
            Map.entry(DType.FLOAT64, "F64"),
            Map.entry(DType.INT32, "I32"),
            Map.entry(DType.INT64, "I64"),
            Map.entry(DType.INT8, "I8"),
            Map.entry(DType.UINT8, "U8"),
            Map.entry(DType.FLOAT16, "F16"),
            Map.entry(DType.BFLOAT16, "BF16"),
            Map.entry(DType.BOOL, "BOOL"),
            Map.entry(DType.INT16, "I16"),
            Map.entry(DType.UINT16, "U16"));
    private static final String METADATA = "__metadata__";
    private static final long LARGEST_HEADER = 100L << 20;

    /**
     * Writes the file so that it is either there as a whole or as it was before: a temporary file
     * beside it is written, forced to the disk and renamed. Only one rank may do it.
     */
    public void write(Path file) throws IOException {
        Path folder = file.toAbsolutePath().getParent();
        // Not createTempFile: the finished file is to have the permissions that the user's files have.
        Path temporary = folder.resolve(
                "." + file.getFileName() + "." + ProcessHandle.current().pid() + ".tmp");
        try {
            Files.deleteIfExists(temporary); // a link there could lead elsewhere
            try (FileChannel channel =
                    FileChannel.open(temporary, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                byte[] header = header();
                ByteBuffer length =
                        ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(header.length);
                writeFully(channel, length.flip());
                writeFully(channel, ByteBuffer.wrap(header));
                for (Map.Entry<String, Tensor> entry : inFileOrder()) {
                    writeFully(channel, bytesOf(entry.getValue()));
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
        SortedMap<String, Entry> entries = new TreeMap<>();
        Map<String, String> metadata = new LinkedHashMap<>();
        try {
            for (String name : header.keySet()) {
                JsonObject value = header.getAsJsonObject(name);
                if (name.equals(METADATA)) {
                    value.keySet()
                            .forEach(key -> metadata.put(key, value.get(key).getAsString()));
                } else {
                    entries.put(name, Entry.of(value));
                }
            }
        } catch (RuntimeException e) {
            throw damaged(file, "its header is no list of tensors: " + e);
        }
        requirePlaces(file, entries, channel.size() - start);
        SortedMap<String, Tensor> tensors = new TreeMap<>();
        for (String name : entries.keySet()) {
            tensors.put(name, tensor(channel, file, name, entries.get(name), start));
        }
        return new Checkpoint(tensors, metadata);
    }

    /** Before anything is allocated: all tensors lie inside the file, and nothing else does. */
    private static void requirePlaces(Path file, Map<String, Entry> entries, long dataBytes) {
        long sum = 0;
        for (Map.Entry<String, Entry> named : entries.entrySet()) {
            Entry entry = named.getValue();
            if (entry.from < 0 || entry.to < entry.from || entry.to > dataBytes) {
                throw damaged(
                        file,
                        "tensor \"" + named.getKey() + "\" lies at bytes " + entry.from + " to " + entry.to + " of "
                                + dataBytes);
            }
            sum += entry.to - entry.from;
        }
        if (sum != dataBytes) {
            throw damaged(file, "its tensors have " + sum + " bytes, the file holds " + dataBytes + " bytes for them");
        }
    }

    private static Tensor tensor(FileChannel channel, Path file, String name, Entry entry, long start)
            throws IOException {
        DType type = NAMES.entrySet().stream()
                .filter(pair -> pair.getValue().equals(entry.type))
                .map(Map.Entry::getKey)
                .findFirst()
                .orElseThrow(() -> damaged(file, "tensor \"" + name + "\" has the unknown type " + entry.type));
        long count = entry.to - entry.from;
        // The quotient cannot overflow, whatever the header claims.
        if (count % type.bytes() != 0 || count / type.bytes() != entry.shape.elements()) {
            throw damaged(file, "tensor \"" + name + "\" of " + type + entry.shape + " has " + count + " bytes");
        }
        channel.position(start + entry.from);
        ByteBuffer bytes = ByteBuffer.allocateDirect(Math.toIntExact(count));
        fill(channel, file, bytes);
        return Tensor.wrap(bytes, type, entry.shape);
    }

    /** What the header says of one tensor. */
    private record Entry(String type, Shape shape, long from, long to) {
        static Entry of(JsonObject value) {
            long[] dims = value.getAsJsonArray("shape").asList().stream()
                    .mapToLong(JsonElement::getAsLong)
                    .toArray();
            JsonArray offsets = value.getAsJsonArray("data_offsets");
            return new Entry(
                    value.get("dtype").getAsString(),
                    Shape.of(dims),
                    offsets.get(0).getAsLong(),
                    offsets.get(1).getAsLong());
        }
    }

    /** Wide elements first, so that every tensor lies at a multiple of its element's size. */
    private List<Map.Entry<String, Tensor>> inFileOrder() {
        return tensors.entrySet().stream()
                .sorted(Comparator.comparing(entry -> -entry.getValue().dtype().bytes()))
                .toList();
    }

    /** As JSON, with blanks at its end so that the tensors begin at a multiple of 8. */
    private byte[] header() {
        JsonObject header = new JsonObject();
        JsonObject words = new JsonObject();
        metadata.forEach(words::addProperty);
        header.add(METADATA, words);
        long at = 0;
        for (Map.Entry<String, Tensor> entry : inFileOrder()) {
            Tensor tensor = entry.getValue();
            JsonObject value = new JsonObject();
            value.addProperty("dtype", NAMES.get(tensor.dtype()));
            value.add("shape", array(tensor.shape().toArray()));
            value.add("data_offsets", array(at, at + tensor.bytes()));
            header.add(entry.getKey(), value);
            at += tensor.bytes();
        }
        byte[] bytes = header.toString().getBytes(StandardCharsets.UTF_8);
        byte[] padded = Arrays.copyOf(bytes, (bytes.length + 7) / 8 * 8);
        Arrays.fill(padded, bytes.length, padded.length, (byte) ' ');
        return padded;
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
