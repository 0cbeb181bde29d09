package io.hvd.train;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import com.google.gson.Strictness;
import com.google.gson.TypeAdapter;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.MalformedJsonException;
import io.hvd.ObjectCodec;
import java.io.IOException;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * Sends objects of one class to other ranks as JSON (RFC 8259), in UTF-8. The class may be a record, an enum, a class
 * with fields, or an array of these; Gson reads and writes it. No other class than those of its fields is ever made.
 *
 * <pre>{@code
 * record Metrics(int epoch, double loss) {}
 *
 * List<Metrics> all = hvd.allgatherObject("metrics", mine, JsonCodec.of(Metrics.class));
 * }</pre>
 *
 * <p>A number that JSON does not have, such as NaN, is refused when it is encoded. A record's component that the text
 * does not name becomes 0, false or null; what only the text names is passed over.
 *
 * <p>Gson lies inside the jar of hvd-optimizer under another name. Its annotations therefore have no effect, and it
 * reads fields and record components as the module {@code io.hvd.optimizer}: a program that is a module itself must
 * declare {@code opens my.package to io.hvd.optimizer} for the packages of these classes.
 */
public final class JsonCodec<T> implements ObjectCodec<T> {
    private final Class<T> type;
    private final TypeAdapter<T> adapter;

    private JsonCodec(Class<T> type, TypeAdapter<T> adapter) {
        this.type = type;
        this.adapter = adapter;
    }

    /**
     * Makes a codec for one class, on any rank and for any number of calls and threads.
     *
     * @throws IllegalArgumentException if Gson cannot read or write this class, for instance one of the JDK's or one
     *     in a package that is not open to it
     */
    public static <T> JsonCodec<T> of(Class<T> type) {
        Objects.requireNonNull(type, "type");
        Gson gson = new GsonBuilder()
                .disableHtmlEscaping()
                .setStrictness(Strictness.STRICT)
                .create();
        try {
            return new JsonCodec<>(type, gson.getAdapter(type));
        } catch (JsonParseException | IllegalArgumentException e) {
            throw new IllegalArgumentException(type.getName() + " cannot be JSON: " + firstLine(e), e);
        }
    }

    /** @throws IllegalArgumentException if the object holds something that JSON cannot express */
    @Override
    public byte[] encode(T value) {
        try {
            return adapter.toJson(value).getBytes(StandardCharsets.UTF_8);
        } catch (JsonParseException | IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "this object of " + type.getName() + " cannot be JSON: " + firstLine(e), e);
        }
    }

    /** @throws IllegalArgumentException if the bytes are not JSON of this class; it names the class and the position */
    @Override
    public T decode(byte[] bytes) {
        JsonReader reader = new JsonReader(new StringReader(text(bytes)));
        reader.setStrictness(Strictness.STRICT);
        try {
            T value = adapter.read(reader);
            if (reader.peek() != JsonToken.END_DOCUMENT) {
                throw new IllegalArgumentException(
                        "the text of an object of " + type.getName() + " goes on after its end, " + position(reader));
            }
            return value;
        } catch (MalformedJsonException e) {
            throw new IllegalArgumentException(
                    "this text is no object of " + type.getName() + ", " + position(reader)
                            + ": it is not JSON (RFC 8259)",
                    e);
        } catch (IOException | JsonParseException | IllegalStateException | NumberFormatException e) {
            throw new IllegalArgumentException(
                    "this text is no object of " + type.getName() + ", " + position(reader) + ": " + firstLine(e), e);
        }
    }

    private String text(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException(
                    bytes.length + " bytes are no object of " + type.getName() + ": they are not UTF-8", e);
        }
    }

    /** The reader describes itself as its class and its position, such as {@code line 1 column 8 path $.epoch}. */
    private static String position(JsonReader reader) {
        return reader.toString().replace(JsonReader.class.getSimpleName() + " ", "");
    }

    /** The second line of some messages is an address of Gson's documentation. */
    private static String firstLine(Exception e) {
        return String.valueOf(e.getMessage()).lines().findFirst().orElse("");
    }
}
