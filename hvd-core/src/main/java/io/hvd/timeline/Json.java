package io.hvd.timeline;

/** Builds one JSON object, field by field. */
final class Json {
    private static final int THOUSAND = 1000;
    /** An event must fit into a block of the file, with three texts of nothing but characters that are escaped. */
    private static final int LONGEST_TEXT = 200;

    private static final char REPLACEMENT = 0xfffd;

    private final StringBuilder text = new StringBuilder("{");

    Json put(String key, String value) {
        return name(key, quote(cut(value)));
    }

    Json put(String key, long value) {
        return name(key, String.valueOf(value));
    }

    /** In microseconds, with three digits after the point. */
    Json micros(String key, long nanos) {
        String digits = String.valueOf(THOUSAND + nanos % THOUSAND);
        return name(key, nanos / THOUSAND + "." + digits.substring(1));
    }

    Json put(String key, Json value) {
        return name(key, value.toString());
    }

    @Override
    public String toString() {
        return text + "}";
    }

    private static boolean isWhole(String text, int at) {
        char c = text.charAt(at);
        return Character.isHighSurrogate(c)
                ? at + 1 < text.length() && Character.isLowSurrogate(text.charAt(at + 1))
                : !Character.isLowSurrogate(c) || (at > 0 && Character.isHighSurrogate(text.charAt(at - 1)));
    }

    private static String cut(String text) {
        return text.length() <= LONGEST_TEXT ? text : text.substring(0, LONGEST_TEXT - 3) + "...";
    }

    private Json name(String key, String value) {
        text.append(text.length() > 1 ? "," : "").append(quote(key)).append(':').append(value);
        return this;
    }

    /** RFC 8259, section 7; everything outside of ASCII is escaped too, and half a surrogate pair replaced. */
    static String quote(String raw) {
        StringBuilder quoted = new StringBuilder("\"");
        for (int i = 0; i < raw.length(); i++) {
            char c = raw.charAt(i);
            switch (c) {
                case '"' -> quoted.append("\\\"");
                case '\\' -> quoted.append("\\\\");
                case '\n' -> quoted.append("\\n");
                default -> {
                    if (c < ' ' || c > '~') {
                        quoted.append(String.format("\\u%04x", (int) (isWhole(raw, i) ? c : REPLACEMENT)));
                    } else {
                        quoted.append(c);
                    }
                }
            }
        }
        return quoted.append('"').toString();
    }
}
