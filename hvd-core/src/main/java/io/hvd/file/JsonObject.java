package io.hvd.file;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Builds one JSON object, field by field, on one line and all of it in ASCII: hvd-core has no JSON library, since it brings
 * SLF4J alone along. Keys are hvd's own and need no escaping. Used by one thread.
 */
public final class JsonObject {
    private static final int FIRST_CHARS = 160;
    private static final int THOUSAND = 1000;
    private static final char REPLACEMENT = 0xfffd;

    private final StringBuilder text = new StringBuilder(FIRST_CHARS).append('{');
    private final int longestText;

    public JsonObject() {
        this(Integer.MAX_VALUE);
    }

    private JsonObject(int longestText) {
        this.longestText = longestText;
    }

    /** An object in which longer texts are cut, and end in three dots. */
    public static JsonObject withTextsUpTo(int chars) {
        return new JsonObject(chars);
    }

    public JsonObject put(String key, String value) {
        key(key).append('"');
        int length = Math.min(value.length(), longestText);
        for (int i = 0; i < length; i++) {
            escape(value, i);
        }
        text.append(length < value.length() ? "...\"" : "\"");
        return this;
    }

    public JsonObject put(String key, long value) {
        key(key).append(value);
        return this;
    }

    public JsonObject put(String key, JsonObject value) {
        key(key).append(value);
        return this;
    }

    public JsonObject put(String key, List<JsonObject> values) {
        key(key).append(values.stream().map(JsonObject::toString).collect(Collectors.joining(",", "[", "]")));
        return this;
    }

    /** Puts a thousandth of a number that is not negative, with three digits after the point. */
    public JsonObject putThousandths(String key, long value) {
        key(key).append(value / THOUSAND).append('.');
        int rest = (int) (value % THOUSAND);
        text.append((char) ('0' + rest / 100))
                .append((char) ('0' + rest / 10 % 10))
                .append((char) ('0' + rest % 10));
        return this;
    }

    @Override
    public String toString() {
        return text.toString() + '}';
    }

    private StringBuilder key(String key) {
        if (text.length() > 1) {
            text.append(',');
        }
        return text.append('"').append(key).append("\":");
    }

    /** RFC 8259, section 7; half a surrogate pair, which a cut may leave, is replaced. */
    private void escape(String raw, int at) {
        char c = raw.charAt(at);
        if (c == '"' || c == '\\') {
            text.append('\\').append(c);
        } else if (c >= ' ' && c <= '~') {
            text.append(c);
        } else {
            text.append(String.format(Locale.ROOT, "\\u%04x", (int) (isWhole(raw, at) ? c : REPLACEMENT)));
        }
    }

    private boolean isWhole(String raw, int at) {
        char c = raw.charAt(at);
        return Character.isHighSurrogate(c)
                ? at + 1 < Math.min(raw.length(), longestText) && Character.isLowSurrogate(raw.charAt(at + 1))
                : !Character.isLowSurrogate(c) || (at > 0 && Character.isHighSurrogate(raw.charAt(at - 1)));
    }
}
