package io.hvd.train.safetensors;

import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Reads a header strictly and in one pass. Text that is no JSON, a name that stands there twice and a broken rule of the format are
 * damage. Fields of a tensor with other names are passed over, as by the format's own reader. The time grows with the length of the
 * header alone, however many tensors there are.
 */
final class HeaderParser {
    private static final Pattern DIGITS = Pattern.compile("[0-9]+");

    private final JsonReader json;
    private final List<CheckpointHeader.Entry> entries = new ArrayList<>();
    private final Map<String, String> words = new LinkedHashMap<>();
    private final Set<String> names = new HashSet<>();

    private HeaderParser(byte[] header) {
        json = new JsonReader(
                new InputStreamReader(new ByteArrayInputStream(header), StandardCharsets.UTF_8.newDecoder()));
        json.setStrictness(Strictness.STRICT);
    }

    static CheckpointHeader parse(byte[] header) throws DamagedCheckpoint {
        if (header[0] != '{') {
            throw new DamagedCheckpoint(
                    "its header begins with the byte " + (header[0] & 0xff) + ", and the format has it begin with {");
        }
        try {
            return new HeaderParser(header).parse();
        } catch (CharacterCodingException e) {
            throw new DamagedCheckpoint("its header is no text in UTF-8, which the format asks for");
        } catch (IOException | IllegalStateException e) {
            throw new DamagedCheckpoint("its header is no JSON of the format: "
                    + e.getMessage().lines().findFirst().orElse(""));
        }
    }

    private CheckpointHeader parse() throws IOException, DamagedCheckpoint {
        json.beginObject();
        while (json.hasNext()) {
            String name = json.nextName();
            if (!names.add(name)) {
                throw new DamagedCheckpoint(
                        "its header has \"" + name + "\" twice, and the format allows no name twice");
            }
            if (name.equals(CheckpointHeader.METADATA)) {
                readWords();
            } else {
                entries.add(entry(name));
            }
        }
        json.endObject();
        if (json.peek() != JsonToken.END_DOCUMENT) {
            throw new DamagedCheckpoint("its header goes on behind its end");
        }
        entries.sort(
                Comparator.comparingLong(CheckpointHeader.Entry::from).thenComparingLong(CheckpointHeader.Entry::to));
        return new CheckpointHeader(entries, words);
    }

    private void readWords() throws IOException, DamagedCheckpoint {
        if (json.peek() == JsonToken.NULL) {
            json.nextNull(); // as good as left out to the format's own reader
            return;
        }
        json.beginObject();
        while (json.hasNext()) {
            String key = json.nextName();
            if (words.put(key, text("the word \"" + key + "\"")) != null) {
                throw new DamagedCheckpoint("its header has the word \"" + key + "\" twice");
            }
        }
        json.endObject();
    }

    private CheckpointHeader.Entry entry(String name) throws IOException, DamagedCheckpoint {
        String type = null;
        long[] shape = null;
        long[] offsets = null;
        json.beginObject();
        while (json.hasNext()) {
            String field = json.nextName();
            switch (field) {
                case "dtype" -> type = once(name, field, type, text("the dtype of tensor \"" + name + "\""));
                case "shape" -> shape = once(name, field, shape, numbers(name));
                case "data_offsets" -> offsets = once(name, field, offsets, numbers(name));
                default -> json.skipValue();
            }
        }
        json.endObject();
        if (type == null || shape == null || offsets == null) {
            throw EntryRules.damaged(name, "lacks its dtype, its shape or its data_offsets");
        }
        return EntryRules.entry(name, type, shape, offsets);
    }

    private static <T> T once(String name, String field, T before, T found) throws DamagedCheckpoint {
        if (before != null) {
            throw EntryRules.damaged(name, "has its " + field + " twice");
        }
        return found;
    }

    private String text(String what) throws IOException, DamagedCheckpoint {
        if (json.peek() != JsonToken.STRING) {
            throw new DamagedCheckpoint(what + " is " + json.peek() + ", and the format allows a text only");
        }
        return json.nextString();
    }

    private long[] numbers(String name) throws IOException, DamagedCheckpoint {
        List<Long> numbers = new ArrayList<>();
        json.beginArray();
        while (json.hasNext()) {
            numbers.add(number(name));
        }
        json.endArray();
        return numbers.stream().mapToLong(Long::longValue).toArray();
    }

    /** Digits and nothing else: the reader would take 4.0 and 4e0, too. */
    private long number(String name) throws IOException, DamagedCheckpoint {
        String digits = json.peek() == JsonToken.NUMBER
                ? json.nextString()
                : json.peek().name();
        try {
            if (DIGITS.matcher(digits).matches()) {
                return Long.parseLong(digits);
            }
        } catch (NumberFormatException e) {
            // answered below, like what is no number
        }
        throw EntryRules.damaged(name, "has " + digits + " where a whole number is expected");
    }
}
