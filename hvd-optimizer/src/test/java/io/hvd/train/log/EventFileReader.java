package io.hvd.train.log;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/** Reads TensorBoard's event files with protobuf's own parser, and checks both sums of every record. */
final class EventFileReader {
    private EventFileReader() {}

    /** An event; a text or value that is not there is null. */
    record Event(double wallTime, long step, String fileVersion, Long sessionStatus, String tag, Float value) {}

    static List<Event> read(Path file) throws IOException {
        ByteBuffer in = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        List<Event> events = new ArrayList<>();
        while (in.hasRemaining()) {
            byte[] length = take(in, Long.BYTES);
            requireSum(length, in.getInt(), "length of record " + events.size());
            byte[] data = take(
                    in,
                    Math.toIntExact(ByteBuffer.wrap(length)
                            .order(ByteOrder.LITTLE_ENDIAN)
                            .getLong()));
            requireSum(data, in.getInt(), "record " + events.size());
            events.add(event(UnknownFieldSet.parseFrom(data)));
        }
        return events;
    }

    private static byte[] take(ByteBuffer in, int bytes) {
        byte[] taken = new byte[bytes];
        in.get(taken);
        return taken;
    }

    /** TensorFlow's mask: rotated right by 15 bits, plus a constant. */
    private static void requireSum(byte[] bytes, int found, String what) {
        CRC32C sum = new CRC32C();
        sum.update(bytes, 0, bytes.length);
        long crc = sum.getValue();
        long masked = ((crc >>> 15 | crc << 17) + 0xa282ead8L) & 0xffffffffL;
        if (masked != Integer.toUnsignedLong(found)) {
            throw new AssertionError("the sum of the " + what + " is wrong");
        }
    }

    private static Event event(UnknownFieldSet event) throws InvalidProtocolBufferException {
        String tag = null;
        Float value = null;
        if (event.hasField(5)) {
            UnknownFieldSet summary = UnknownFieldSet.parseFrom(
                    event.getField(5).getLengthDelimitedList().get(0));
            UnknownFieldSet one = UnknownFieldSet.parseFrom(
                    summary.getField(1).getLengthDelimitedList().get(0));
            tag = one.getField(1).getLengthDelimitedList().get(0).toStringUtf8();
            value = Float.intBitsToFloat(one.getField(2).getFixed32List().get(0));
        }
        Long status = event.hasField(7)
                ? UnknownFieldSet.parseFrom(
                                event.getField(7).getLengthDelimitedList().get(0))
                        .getField(1)
                        .getVarintList()
                        .get(0)
                : null;
        return new Event(
                Double.longBitsToDouble(event.getField(1).getFixed64List().get(0)),
                event.hasField(2) ? event.getField(2).getVarintList().get(0) : 0,
                event.hasField(3)
                        ? event.getField(3).getLengthDelimitedList().get(0).toStringUtf8()
                        : null,
                status,
                tag,
                value);
    }

    /** The event files of a folder, in TensorBoard's order. */
    static List<Path> files(Path folder) throws IOException {
        try (var files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().contains("tfevents"))
                    .sorted()
                    .toList();
        }
    }
}
