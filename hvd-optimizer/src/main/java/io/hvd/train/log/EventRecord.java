package io.hvd.train.log;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/**
 * Records of a TensorBoard event file. Each holds one {@code Event} in protobuf's encoding, of which scalars need seven fields;
 * so these lines take the place of a library that would be larger than hvd on a trainer's class path.
 *
 * <pre>
 * record   length, 8 bytes | masked CRC of the length, 4 | event | masked CRC of the event, 4      little-endian
 * Event    wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7
 * Summary  value = 1: tag = 1, simple_value = 2
 * </pre>
 *
 * <p>The formats are TensorFlow's {@code record_writer.h} (TFRecord), {@code event.proto} and {@code summary.proto}.
 */
final class EventRecord {
    private static final String FILE_VERSION = "brain.Event:2";

    private static final int CRC_ROTATION = 15;
    private static final int CRC_DELTA = 0xa282ead8;

    private static final int VARINT = 0;
    private static final int EIGHT_BYTES = 1;
    private static final int LENGTH_PREFIXED = 2;
    private static final int FOUR_BYTES = 5;

    private static final int STATUS_START = 1;

    private EventRecord() {}

    /** The first record of every file. */
    static byte[] fileVersion(double seconds) {
        Message event = new Message();
        event.decimal(1, seconds);
        event.bytes(3, FILE_VERSION.getBytes(StandardCharsets.UTF_8));
        return framed(event.encoded());
    }

    /** Says that a training begins with this step: TensorBoard then leaves out what earlier files have from it on. */
    static byte[] sessionStart(double seconds, long firstStep) {
        Message session = new Message();
        session.whole(1, STATUS_START);
        Message event = new Message();
        event.decimal(1, seconds);
        event.whole(2, firstStep);
        event.bytes(7, session.encoded());
        return framed(event.encoded());
    }

    static byte[] of(Scalar scalar) {
        Message value = new Message();
        value.bytes(1, scalar.tag().getBytes(StandardCharsets.UTF_8));
        value.single(2, (float) scalar.value());
        Message summary = new Message();
        summary.bytes(1, value.encoded());
        Message event = new Message();
        event.decimal(1, scalar.seconds());
        event.whole(2, scalar.step());
        event.bytes(5, summary.encoded());
        return framed(event.encoded());
    }

    private static byte[] framed(byte[] event) {
        byte[] length = littleEndian(Long.BYTES).putLong(event.length).array();
        return littleEndian(Long.BYTES + Integer.BYTES + event.length + Integer.BYTES)
                .put(length)
                .putInt(maskedCrc(length))
                .put(event)
                .putInt(maskedCrc(event))
                .array();
    }

    private static int maskedCrc(byte[] bytes) {
        CRC32C sum = new CRC32C();
        sum.update(bytes);
        return Integer.rotateRight((int) sum.getValue(), CRC_ROTATION) + CRC_DELTA;
    }

    private static ByteBuffer littleEndian(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** The fields of a protobuf message, in the order in which they are added. */
    private static final class Message {
        private static final int KIND_BITS = 3;
        private static final int SEVEN_BITS = 0x7f;
        private static final int MORE = 0x80;

        private final ByteArrayOutputStream out = new ByteArrayOutputStream();

        void whole(int field, long value) {
            key(field, VARINT);
            varint(value);
        }

        void decimal(int field, double value) {
            key(field, EIGHT_BYTES);
            out.writeBytes(littleEndian(Double.BYTES).putDouble(value).array());
        }

        void single(int field, float value) {
            key(field, FOUR_BYTES);
            out.writeBytes(littleEndian(Float.BYTES).putFloat(value).array());
        }

        void bytes(int field, byte[] value) {
            key(field, LENGTH_PREFIXED);
            varint(value.length);
            out.writeBytes(value);
        }

        byte[] encoded() {
            return out.toByteArray();
        }

        private void key(int field, int kind) {
            varint((long) field << KIND_BITS | kind);
        }

        private void varint(long value) {
            long rest = value;
            while ((rest & ~SEVEN_BITS) != 0) {
                out.write((int) (rest & SEVEN_BITS) | MORE);
                rest >>>= 7;
            }
            out.write((int) rest);
        }
    }
}
