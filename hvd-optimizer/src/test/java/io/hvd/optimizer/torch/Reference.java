package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import io.hvd.HvdContext;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;

/** The values that Python has made, in {@code src/test/resources/io/hvd/reference}. */
final class Reference {
    private Reference() {}

    static JsonElement read(String name) {
        return JsonParser.parseString(new String(bytes(name + ".json"), StandardCharsets.UTF_8));
    }

    static byte[] bytes(String file) {
        try (InputStream in = Reference.class.getResourceAsStream("/io/hvd/reference/" + file)) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static float[] floatsOf(JsonElement array) {
        float[] values = new float[array.getAsJsonArray().size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = array.getAsJsonArray().get(i).getAsFloat();
        }
        return values;
    }

    /** Little-endian bytes, written in hexadecimal. */
    static ByteBuffer hex(JsonElement text) {
        return ByteBuffer.wrap(HexFormat.of().parseHex(text.getAsString())).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** The mean of the parts that belong to a rank. */
    static void meanOfShare(HvdContext hvd, JsonArray parts, String name, float[] mean) {
        int share = parts.size() / hvd.size();
        Arrays.fill(mean, 0);
        for (int part = hvd.rank() * share; part < (hvd.rank() + 1) * share; part++) {
            JsonElement values = name.isEmpty()
                    ? parts.get(part)
                    : parts.get(part).getAsJsonObject().get(name);
            float[] one = floatsOf(values);
            for (int i = 0; i < mean.length; i++) {
                mean[i] += one[i] / share;
            }
        }
    }

    /** @param tolerance of an element, absolute up to 1 and then a share of it */
    static void assertClose(String what, float[] found, float[] wanted, double tolerance) {
        assertThat(found).as(what).hasSize(wanted.length);
        for (int i = 0; i < wanted.length; i++) {
            assertThat((double) found[i])
                    .as("%s, element %d", what, i)
                    .isCloseTo(wanted[i], within(tolerance * Math.max(1, Math.abs(wanted[i]))));
        }
    }
}
