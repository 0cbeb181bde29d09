package io.hvd.net;

import java.nio.ByteBuffer;

/**
 * Announces what a rank hands in to its launcher. The content follows in messages of at most {@link #PIECE_BYTES}, of which
 * none is empty, and its receiver answers when all of it is stored.
 *
 * @param sentMillis by the sender's clock
 * @param name that is refused unless the receiver expects it
 * @param bytes of the content
 */
public record Upload(long sentMillis, String name, int bytes) {
    public static final int PIECE_BYTES = 1 << 16;

    /** More than any upload takes. */
    public static final int MOST_BYTES = 64;

    static final int ANSWER_BYTES = 1;

    public byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeLong(sentMillis);
            out.writeText(name);
            out.writeInt(bytes);
        });
    }

    /** @throws MalformedMessageException if it is none */
    public static Upload decode(ByteBuffer message) {
        return MessageReader.decode(
                "what a rank hands in", message, in -> new Upload(in.readLong(), in.readText(), in.readInt()));
    }

    /** The answer: the content is stored. */
    public static byte[] stored() {
        return MessageWriter.encode(out -> out.writeBoolean(true));
    }
}
