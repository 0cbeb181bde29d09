package io.hvd.file;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonParser;
import java.util.List;
import org.junit.jupiter.api.Test;

class JsonObjectTest {
    private static String read(JsonObject object, String key) {
        return JsonParser.parseString(object.toString())
                .getAsJsonObject()
                .get(key)
                .getAsString();
    }

    @Test
    void fieldsStandInTheirOrderOnOneLine() {
        JsonObject inner = new JsonObject().put("a", -1L);

        assertThat(new JsonObject()
                        .put("text", "x")
                        .put("number", Long.MAX_VALUE)
                        .putThousandths("micros", 12_034_005)
                        .put("object", inner)
                        .put("list", List.of(inner, new JsonObject()))
                        .put("none", List.of()))
                .hasToString("{\"text\":\"x\",\"number\":9223372036854775807,\"micros\":12034.005,"
                        + "\"object\":{\"a\":-1},\"list\":[{\"a\":-1},{}],\"none\":[]}");
    }

    @Test
    void anyTextComesBackAsItWasAndIsWrittenInAscii() {
        String odd = "\"quotes\\ \n\t\0 \u007f ü ✓ \ud83d\ude00 </script>";
        JsonObject object = new JsonObject().put("text", odd);

        assertThat(object.toString()).matches("[ -~]*");
        assertThat(read(object, "text")).isEqualTo(odd);
    }

    @Test
    void halfASurrogatePairIsReplaced() {
        assertThat(read(new JsonObject().put("text", "a\ud83d"), "text")).isEqualTo("a\ufffd");
        assertThat(read(new JsonObject().put("text", "\ude00b"), "text")).isEqualTo("\ufffdb");
    }

    @Test
    void longTextsAreCutWhereThatIsAskedFor() {
        assertThat(read(JsonObject.withTextsUpTo(3).put("text", "abc"), "text")).isEqualTo("abc");
        assertThat(read(JsonObject.withTextsUpTo(3).put("text", "abcd"), "text"))
                .isEqualTo("abc...");
        assertThat(read(JsonObject.withTextsUpTo(3).put("text", "ab\ud83d\ude00"), "text"))
                .isEqualTo("ab\ufffd...");
        assertThat(read(new JsonObject().put("text", "x".repeat(5000)), "text")).hasSize(5000);
    }
}
