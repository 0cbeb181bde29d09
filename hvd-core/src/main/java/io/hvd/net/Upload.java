package io.hvd.net;

import java.nio.ByteBuffer;

/**
 * Announces content that a rank uploads to its launcher. The content follows in messages of at most {@link
 * #PIECE_BYTES}, none of which is empty, and the receiver answers when it has stored all of it.
 *
 * @param sentMillis the time of sending, by the sender's clock
 * @param name the content's name, which the receiver refuses unless it expects it
 * @param bytes number of bytes of the content
 */
public record Upload(long sentMillis, String name, int bytes) {
    public static final int PIECE_BYTES = 1 << 16;

    /** More bytes than any announcement takes. */
    public static final int MOST_BYTES = 64;

    static final int ANSWER_BYTES = 1;

    public byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeLong(sentMillis);
            out.writeText(name);
            out.writeInt(bytes);
        });
    }

    /** @throws MalformedMessageException if the message is no announcement */
    public static Upload decode(ByteBuffer message) {
        return MessageReader.decode(
                "what a rank hands in", message, in -> new Upload(in.readLong(), in.readText(), in.readInt()));
    }

    /** The answer that the content is stored. */
    public static byte[] stored() {
        return MessageWriter.encode(out -> out.writeBoolean(true));
    }
}
