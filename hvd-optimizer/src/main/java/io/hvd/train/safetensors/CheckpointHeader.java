package io.hvd.train.safetensors;

import com.google.gson.stream.JsonWriter;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The JSON in front of a checkpoint's tensors.
 *
 * @param entries in the order in which the tensors lie in the file, one behind the other
 * @param words in the order in which they stand there, those of hvd among them
 */
public record CheckpointHeader(List<Entry> entries, Map<String, String> words) {
    static final String METADATA = "__metadata__";

    /** The limit of other readers of the format. */
    static final int MOST_BYTES = 100_000_000;

    /** Tensors begin at a multiple of it. */
    private static final int ALIGNMENT = 8;

    /**
     * One tensor.
     *
     * @param from byte at which it begins, counted from the end of the header
     */
    record Entry(String name, SafetensorsType type, Shape shape, long from) {
        long bytes() {
            return type.bytes(shape.elements()).orElseThrow();
        }

        long to() {
            return from + bytes();
        }
    }

    /** Wide elements first, so that every tensor lies at a multiple of its element's size. */
    public static CheckpointHeader of(Map<String, Tensor> tensors, Map<String, String> metadata) {
        List<Map.Entry<String, Tensor>> sorted = new ArrayList<>(tensors.entrySet());
        sorted.sort(Comparator.comparing(tensor -> -tensor.getValue().dtype().bytes()));
        List<Entry> entries = new ArrayList<>();
        long at = 0;
        for (Map.Entry<String, Tensor> named : sorted) {
            Tensor tensor = named.getValue();
            entries.add(new Entry(named.getKey(), SafetensorsType.of(tensor.dtype()), tensor.shape(), at));
            at = Math.addExact(at, tensor.bytes());
        }
        return new CheckpointHeader(entries, wordsOf(metadata));
    }

    private static Map<String, String> wordsOf(Map<String, String> metadata) {
        Map<String, String> words = new LinkedHashMap<>();
        words.put(FileChecksum.KEY, FileChecksum.NO_DIGITS);
        metadata.forEach((key, word) -> {
            if (key.startsWith(FileChecksum.OWN) || word == null) {
                throw refused("the word \"" + key + "\" is "
                        + (word == null
                                ? "null"
                                : "of a name that hvd keeps for" + " its own: choose one that does not begin with \""
                                        + FileChecksum.OWN + "\""));
            }
            words.put(key, word);
        });
        return words;
    }

    /** Bytes of all tensors. */
    public long dataBytes() {
        return entries.isEmpty() ? 0 : entries.get(entries.size() - 1).to();
    }

    /**
     * With blanks at its end so that the tensors begin at a multiple of 8.
     *
     * @throws HvdException if other readers would not take it
     */
    public byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (Writer text = new OutputStreamWriter(bytes, StandardCharsets.UTF_8.newEncoder());
                JsonWriter json = new JsonWriter(text)) {
            json.beginObject().name(METADATA).beginObject();
            for (Map.Entry<String, String> word : words.entrySet()) {
                json.name(word.getKey()).value(word.getValue());
            }
            json.endObject();
            mark(json, text);
            for (Entry entry : entries) {
                write(entry, json);
                mark(json, text);
            }
            json.endObject();
            mark(json, text);
        } catch (CharacterCodingException e) {
            throw refused("a name or a word of it is no text: half of a pair of UTF-16 stands alone in it");
        } catch (IOException e) {
            throw new IllegalStateException(e); // memory does not fail so
        }
        while (bytes.size() % ALIGNMENT != 0) {
            bytes.write(' ');
        }
        if (bytes.size() > MOST_BYTES) {
            throw refused("its " + entries.size() + " tensors and " + words.size() + " words make a header of "
                    + bytes.size() + " bytes, the format allows " + MOST_BYTES);
        }
        return bytes.toByteArray();
    }

    private static void mark(JsonWriter json, Writer text) throws IOException {
        json.flush();
        text.write(FileChecksum.MARK);
    }

    private static void write(Entry entry, JsonWriter json) throws IOException {
        if (entry.name().equals(METADATA)) {
            throw refused("a tensor cannot be called \"" + METADATA + "\", the format has the words there");
        }
        json.name(entry.name()).beginObject();
        json.name("dtype").value(entry.type().name());
        json.name("shape").beginArray();
        for (long dim : entry.shape().toArray()) {
            json.value(dim);
        }
        json.endArray();
        json.name("data_offsets")
                .beginArray()
                .value(entry.from())
                .value(entry.to())
                .endArray();
        json.endObject();
    }

    private static HvdException refused(String why) {
        return new HvdException(ErrorId.BAD_ARGUMENT, "the checkpoint cannot be written: " + why);
    }
}
