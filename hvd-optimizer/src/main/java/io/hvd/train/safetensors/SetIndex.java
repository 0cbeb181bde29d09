package io.hvd.train.safetensors;

import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonWriter;
import io.hvd.file.RegularFile;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The index of a checkpoint that lies in several files, {@code model.safetensors.index.json} as Hugging Face's libraries write it and
 * read it. The sum of each file's header is among its metadata: by the sums in the headers each tensor can be checked alone.
 *
 * @param files the name of the file in which each tensor lies
 * @param headerSums CRC-32C of each file's header
 * @param totalSize bytes of all tensors
 */
public record SetIndex(SortedMap<String, String> files, SortedMap<String, String> headerSums, long totalSize) {
    /** Its name in the folder of the files. */
    public static final String NAME = "model.safetensors.index.json";

    private static final String METADATA = "metadata";
    private static final String TOTAL_SIZE = "total_size";
    private static final String SUM = "crc32c.";
    private static final String WEIGHT_MAP = "weight_map";
    private static final int MOST_BYTES = 1 << 30;

    /** The name of a file. @param number from 1 */
    public static String fileName(int number, int files) {
        return String.format(Locale.ROOT, "model-%05d-of-%05d.safetensors", number, files);
    }

    /** Reads the headers of files that are whole. @throws IOException also if two have a tensor of the same name */
    public static SetIndex of(Path folder, List<String> names) throws IOException {
        SetIndex index = new SetIndex(new TreeMap<>(), new TreeMap<>(), 0);
        long bytes = 0;
        for (String name : names) {
            Path file = folder.resolve(name);
            try (FileChannel channel = FileChannel.open(RegularFile.at(file))) {
                byte[] json = CheckpointReader.ofHeader(file, channel);
                index.headerSums.put(name, FileChecksum.ofBytes(json));
                CheckpointHeader header = HeaderParser.parse(json);
                for (CheckpointHeader.Entry entry : header.entries()) {
                    String other = index.files.put(entry.name(), name);
                    if (other != null) {
                        throw new IOException("the tensor \"" + entry.name() + "\" is in " + other + " and in " + name);
                    }
                }
                bytes += header.dataBytes();
            } catch (DamagedCheckpoint e) {
                throw new IOException(file + " is no whole checkpoint: " + e.getMessage(), e);
            }
        }
        return new SetIndex(index.files, index.headerSums, bytes);
    }

    /** The JSON. */
    public byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JsonWriter json = new JsonWriter(new OutputStreamWriter(bytes, StandardCharsets.UTF_8))) {
            json.setIndent("  ");
            json.beginObject().name(METADATA).beginObject();
            for (var sum : headerSums.entrySet()) {
                json.name(SUM + sum.getKey()).value(sum.getValue());
            }
            json.name(TOTAL_SIZE).value(totalSize).endObject();
            json.name(WEIGHT_MAP).beginObject();
            for (var file : files.entrySet()) {
                json.name(file.getKey()).value(file.getValue());
            }
            json.endObject().endObject();
        } catch (IOException e) {
            throw new IllegalStateException(e); // memory does not fail so
        }
        return bytes.toByteArray();
    }

    /** The index in a folder. @throws DamagedCheckpoint if it is none */
    static SetIndex in(Path folder) throws IOException, DamagedCheckpoint {
        Path file = RegularFile.at(folder.resolve(NAME));
        if (Files.size(file) > MOST_BYTES) {
            throw new DamagedCheckpoint("its index has " + Files.size(file) + " bytes, expected at most " + MOST_BYTES);
        }
        try (JsonReader json = new JsonReader(
                new InputStreamReader(new ByteArrayInputStream(Files.readAllBytes(file)), StandardCharsets.UTF_8))) {
            return read(json);
        } catch (IOException | IllegalStateException | NumberFormatException e) {
            throw new DamagedCheckpoint("its " + NAME + " is no index: "
                    + String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
        }
    }

    private static SetIndex read(JsonReader json) throws IOException {
        SetIndex index = new SetIndex(new TreeMap<>(), new TreeMap<>(), 0);
        long bytes = 0;
        json.beginObject();
        while (json.hasNext()) {
            switch (json.nextName()) {
                case METADATA -> bytes = metadata(json, index.headerSums);
                case WEIGHT_MAP -> weightMap(json, index.files);
                default -> json.skipValue();
            }
        }
        json.endObject();
        return new SetIndex(index.files, index.headerSums, bytes);
    }

    private static long metadata(JsonReader json, SortedMap<String, String> sums) throws IOException {
        long bytes = 0;
        json.beginObject();
        while (json.hasNext()) {
            String key = json.nextName();
            if (key.equals(TOTAL_SIZE)) {
                bytes = json.nextLong();
            } else if (key.startsWith(SUM)) {
                sums.put(key.substring(SUM.length()), json.nextString());
            } else {
                json.skipValue();
            }
        }
        json.endObject();
        return bytes;
    }

    private static void weightMap(JsonReader json, SortedMap<String, String> files) throws IOException {
        json.beginObject();
        while (json.hasNext()) {
            files.put(json.nextName(), json.nextString());
        }
        json.endObject();
    }
}
