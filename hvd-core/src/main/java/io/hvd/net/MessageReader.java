package io.hvd.net;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;

/**
 * Reads a control message that {@link MessageWriter} has written. A length is accepted only if the message is long
 * enough for it, so a damaged message takes no memory and causes nothing worse than a {@link
 * MalformedMessageException}. One thread uses it.
 */
public final class MessageReader {
    private static final int LARGEST_PORT = 0xffff;

    private final String what;
    private final ByteBuffer bytes;

    private MessageReader(String what, ByteBuffer bytes) {
        this.what = what;
        this.bytes = bytes;
    }

    /** Reads the fields of a message or of a part of it. */
    public interface Decoding<T> {
        T read(MessageReader in);
    }

    /**
     * Reads a whole message.
     *
     * @param what the name of the message in an error, such as "a plan"
     * @throws MalformedMessageException if the message is cut off, has too many bytes, or contains a value that {@code
     *     body} refuses
     */
    public static <T> T decode(String what, byte[] bytes, Decoding<T> body) {
        return decode(what, ByteBuffer.wrap(bytes), body);
    }

    /** Reads a whole message from the buffer's position to its limit, and moves the position there. */
    public static <T> T decode(String what, ByteBuffer bytes, Decoding<T> body) {
        MessageReader in = new MessageReader(what, bytes.slice());
        bytes.position(bytes.limit());
        try {
            T value = body.read(in);
            in.requireEnd();
            return value;
        } catch (MalformedMessageException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new MalformedMessageException(in.position() + ": found a value that is none: " + e, e);
        }
    }

    private void requireEnd() {
        if (bytes.hasRemaining()) {
            throw malformed(bytes.remaining() + " bytes more", "the end of the message");
        }
    }

    public byte readByte() {
        return need(Byte.BYTES).get();
    }

    public int readUnsignedByte() {
        return Byte.toUnsignedInt(readByte());
    }

    public boolean readBoolean() {
        byte value = readByte();
        if (value != 0 && value != 1) {
            throw malformed("a byte " + value, "0 or 1 for false or true");
        }
        return value == 1;
    }

    public int readInt() {
        return need(Integer.BYTES).getInt();
    }

    public long readLong() {
        return need(Long.BYTES).getLong();
    }

    public double readDouble() {
        return need(Double.BYTES).getDouble();
    }

    /** Reads a constant of an enum. */
    public <E extends Enum<E>> E readEnum(Class<E> type) {
        E[] all = type.getEnumConstants();
        int place = readUnsignedByte();
        if (place >= all.length) {
            throw malformed("number " + place + " of a " + type.getSimpleName(), "at most " + (all.length - 1));
        }
        return all[place];
    }

    public byte[] readBytes() {
        byte[] value = new byte[readLength("bytes")];
        bytes.get(value);
        return value;
    }

    public String readText() {
        return new String(readBytes(), StandardCharsets.UTF_8);
    }

    public <T> List<T> readList(Decoding<T> element) {
        List<T> values = new ArrayList<>();
        for (int left = readLength("elements"); left > 0; left--) {
            values.add(readElement(element));
        }
        return values;
    }

    /** Reads an element, which must have at least one byte: a short message could otherwise hold any number of them. */
    private <T> T readElement(Decoding<T> element) {
        int begin = bytes.position();
        T value = element.read(this);
        if (bytes.position() == begin) {
            throw malformed("an element without bytes", "at least one byte");
        }
        return value;
    }

    public List<Long> readLongs() {
        return readList(MessageReader::readLong);
    }

    public <T> Optional<T> readOptional(Decoding<T> decoding) {
        return readBoolean() ? Optional.of(decoding.read(this)) : Optional.empty();
    }

    /** Reads a set of bits, which takes as much memory as its highest number needs: at most 256 MiB. */
    public BitSet readBits() {
        int base = readInt();
        byte[] window = readBytes();
        if (base < 0 || base + (long) Byte.SIZE * window.length > Integer.MAX_VALUE) {
            throw malformed(window.length + " bytes of bits from number " + base, "numbers that an int holds");
        }
        BitSet bits = new BitSet();
        BitSet.valueOf(window).stream().forEach(bit -> bits.set(base + bit));
        return bits;
    }

    public InetAddress readAddress() {
        byte[] address = readBytes();
        try {
            return InetAddress.getByAddress(address);
        } catch (UnknownHostException e) {
            throw malformed("an address of " + address.length + " bytes", "4 or 16");
        }
    }

    public InetSocketAddress readSocketAddress() {
        InetAddress address = readAddress();
        int port = readInt();
        if (port < 0 || port > LARGEST_PORT) {
            throw malformed("port " + port, "0 to " + LARGEST_PORT);
        }
        return new InetSocketAddress(address, port);
    }

    /** Reads all bytes up to the end of the message; the result shares the message's memory. */
    public ByteBuffer readRest() {
        ByteBuffer rest = bytes.slice();
        bytes.position(bytes.limit());
        return rest;
    }

    /** Reads the number of bytes or elements that follow; each of them takes at least one byte. */
    private int readLength(String of) {
        int length = readInt();
        if (length < 0 || length > bytes.remaining()) {
            throw malformed("a length of " + length + " " + of, "0 to " + bytes.remaining());
        }
        return length;
    }

    private ByteBuffer need(int count) {
        if (bytes.remaining() < count) {
            throw malformed("the end of the message after " + bytes.remaining() + " bytes", count + " bytes");
        }
        return bytes;
    }

    /** Makes the error for a value that this message cannot contain. */
    public MalformedMessageException malformed(String found, String expected) {
        return new MalformedMessageException(position() + ": found " + found + ", expected " + expected);
    }

    private String position() {
        return what + " of " + bytes.limit() + " bytes cannot be read at byte " + bytes.position();
    }
}
