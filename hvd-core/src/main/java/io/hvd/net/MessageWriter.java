package io.hvd.net;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;

/**
 * Writes a control message, field by field; {@link MessageReader} has a method for each of these. Numbers are
 * big-endian. Texts, bytes and lists have their length in front, as an int. One thread uses it.
 */
public final class MessageWriter {
    private static final int FIRST_BYTES = 128;

    private ByteBuffer bytes = ByteBuffer.allocate(FIRST_BYTES);

    /** Writes the fields of a message or of a part of it. */
    public interface Body {
        void write(MessageWriter out);
    }

    /** Writes one value. */
    public interface Encoding<T> {
        void write(MessageWriter out, T value);
    }

    /** Returns the message that {@code body} writes. */
    public static byte[] encode(Body body) {
        MessageWriter out = new MessageWriter();
        body.write(out);
        return Arrays.copyOf(out.bytes.array(), out.bytes.position());
    }

    /** Returns the message that {@code body} writes, for a {@code ControlChannel}. */
    public static ByteBuffer encodeToBuffer(Body body) {
        MessageWriter out = new MessageWriter();
        body.write(out);
        return out.bytes.flip();
    }

    /** Writes the lowest eight bits of a number. */
    public void writeByte(int value) {
        room(Byte.BYTES).put((byte) value);
    }

    public void writeBoolean(boolean value) {
        writeByte(value ? 1 : 0);
    }

    public void writeInt(int value) {
        room(Integer.BYTES).putInt(value);
    }

    public void writeLong(long value) {
        room(Long.BYTES).putLong(value);
    }

    public void writeDouble(double value) {
        room(Double.BYTES).putDouble(value);
    }

    /** Writes the ordinal of an enum's constant. */
    public void writeEnum(Enum<?> value) {
        writeByte(value.ordinal());
    }

    public void writeBytes(byte[] value) {
        writeInt(value.length);
        room(value.length).put(value);
    }

    /** Writes a text of any length, as UTF-8. */
    public void writeText(String value) {
        writeBytes(value.getBytes(StandardCharsets.UTF_8));
    }

    public <T> void writeList(List<T> values, Encoding<? super T> element) {
        writeInt(values.size());
        for (T value : values) {
            element.write(this, value);
        }
    }

    public void writeLongs(List<Long> values) {
        writeList(values, MessageWriter::writeLong);
    }

    public <T> void writeOptional(Optional<T> value, Encoding<? super T> encoding) {
        writeBoolean(value.isPresent());
        value.ifPresent(present -> encoding.write(this, present));
    }

    /** Writes the bits from the lowest one that is set, so that high numbers take no more bytes than low ones. */
    public void writeBits(BitSet bits) {
        int base = Math.max(0, bits.nextSetBit(0));
        writeInt(base);
        writeBytes(bits.get(base, bits.length()).toByteArray());
    }

    public void writeAddress(InetAddress address) {
        writeBytes(address.getAddress());
    }

    public void writeSocketAddress(InetSocketAddress address) {
        writeAddress(address.getAddress());
        writeInt(address.getPort());
    }

    /** Writes the last bytes of the message without their length; nothing may follow. */
    public void writeRest(ByteBuffer rest) {
        room(rest.remaining()).put(rest.duplicate());
    }

    private ByteBuffer room(int more) {
        if (bytes.remaining() < more) {
            int needed = Math.addExact(bytes.position(), more);
            int doubled = (int) Math.min(Integer.MAX_VALUE - Long.BYTES, 2L * bytes.capacity());
            bytes = ByteBuffer.allocate(Math.max(needed, doubled)).put(bytes.flip());
        }
        return bytes;
    }
}
