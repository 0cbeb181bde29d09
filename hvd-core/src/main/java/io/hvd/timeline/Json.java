package io.hvd.timeline;

/** Builds one JSON object, field by field, all of it in ASCII. Keys are ours and need no escaping. */
final class Json {
    private static final int THOUSAND = 1000;
    private static final int FIRST_CHARS = 160;
    /** An event must fit into a block of the file, with three texts of nothing but characters that are escaped. */
    private static final int LONGEST_TEXT = 200;

    private static final char REPLACEMENT = 0xfffd;

    private final StringBuilder text = new StringBuilder(FIRST_CHARS).append('{');

    Json put(String key, String value) {
        key(key).append('"');
        int length = Math.min(value.length(), LONGEST_TEXT);
        for (int i = 0; i < length; i++) {
            escape(value, i);
        }
        text.append(length < value.length() ? "...\"" : "\"");
        return this;
    }

    Json put(String key, long value) {
        key(key).append(value);
        return this;
    }

    /** In microseconds, with three digits after the point. */
    Json micros(String key, long nanos) {
        key(key).append(nanos / THOUSAND).append('.');
        int rest = (int) (nanos % THOUSAND);
        text.append((char) ('0' + rest / 100))
                .append((char) ('0' + rest / 10 % 10))
                .append((char) ('0' + rest % 10));
        return this;
    }

    Json put(String key, Json value) {
        key(key).append(value.text).append('}');
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
            text.append(String.format("\\u%04x", (int) (isWhole(raw, at) ? c : REPLACEMENT)));
        }
    }

    private static boolean isWhole(String text, int at) {
        char c = text.charAt(at);
        return Character.isHighSurrogate(c)
                ? at + 1 < Math.min(text.length(), LONGEST_TEXT) && Character.isLowSurrogate(text.charAt(at + 1))
                : !Character.isLowSurrogate(c) || (at > 0 && Character.isHighSurrogate(text.charAt(at - 1)));
    }
}
