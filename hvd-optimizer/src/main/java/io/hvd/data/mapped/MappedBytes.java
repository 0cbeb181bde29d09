package io.hvd.data.mapped;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;

/**
 * A part of a file, mapped for reading, of any length. A mapping has at most 2^31-1 bytes, so there are several, each of
 * which goes on for the longest record beyond the beginning of the next: a record lies in the one in which it begins.
 * They end when the collector finds that nobody refers to them or to a slice any more.
 */
final class MappedBytes {
    private final List<ByteBuffer> segments = new ArrayList<>();
    private final long segmentBytes;

    /** @param longest bytes that are asked for at once; with {@code segmentBytes} at most 2^31-1 */
    MappedBytes(FileChannel channel, long from, long bytes, long segmentBytes, long longest) throws IOException {
        this.segmentBytes = segmentBytes;
        for (long at = 0; at < bytes; at += segmentBytes) {
            long length = Math.min(bytes - at, segmentBytes + longest);
            segments.add(BufferLedger.PROCESS
                    .map(Owner.DATA, channel, FileChannel.MapMode.READ_ONLY, from + at, length)
                    .order(ByteOrder.LITTLE_ENDIAN));
        }
    }

    /** The bytes themselves, not a copy, in the order of this machine. */
    ByteBuffer slice(long at, int length) {
        if (length == 0) {
            return ByteBuffer.allocate(0).asReadOnlyBuffer().order(ByteOrder.nativeOrder());
        }
        return segment(at).slice((int) (at % segmentBytes), length).order(ByteOrder.nativeOrder());
    }

    /** A number at a multiple of 8 bytes. */
    long number(long at) {
        return segment(at).getLong((int) (at % segmentBytes));
    }

    private ByteBuffer segment(long at) {
        return segments.get((int) (at / segmentBytes));
    }
}
