package io.hvd.launch.failure;

import java.util.function.Consumer;

/** Makes lines of the bytes of one stream, which come in any pieces. One thread feeds it. */
public final class OutputLines {

    private static final int LONGEST_LINE = 1000;

    private final StringBuilder line = new StringBuilder();
    private final Consumer<String> reader;

    /** @param reader gets each line, of bytes as characters; of a long one the beginning */
    public OutputLines(Consumer<String> reader) {
        this.reader = reader;
    }

    /** Takes the next bytes of the stream, the first {@code length} of an array. */
    public void accept(byte[] bytes, int length) {
        for (int i = 0; i < length; i++) {
            char c = (char) (bytes[i] & 0xff);
            if (c == '\n') {
                reader.accept(line.toString());
                line.setLength(0);
            } else if (line.length() < LONGEST_LINE) {
                line.append(c);
            }
        }
    }
}
