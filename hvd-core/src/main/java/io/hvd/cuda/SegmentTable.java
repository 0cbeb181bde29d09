package io.hvd.cuda;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * The table of segments that the kernels read. It has a row of four longs, in native byte order, for each segment that
 * has elements: source, destination, number of elements, first tile.
 *
 * @param tiles number of tiles of all segments together
 */
record SegmentTable(int rows, long tiles) {
    static final int ROW_BYTES = 4 * Long.BYTES;

    /**
     * @param to a buffer for the rows, with room for one per segment
     * @throws HvdException if an address is not a multiple of its element's size
     */
    static SegmentTable write(List<DeviceSegment> segments, Kernel kernel, ByteBuffer to) {
        int rows = 0;
        long tiles = 0;
        for (DeviceSegment segment : segments) {
            if (segment.count() > 0) {
                requireWholeElements(segment, kernel);
                int at = rows * ROW_BYTES;
                to.putLong(at, segment.from());
                to.putLong(at + 8, segment.to());
                to.putLong(at + 16, segment.count());
                to.putLong(at + 24, tiles);
                rows++;
                tiles = Math.addExact(tiles, kernel.tiles(segment));
            }
        }
        return new SegmentTable(rows, tiles);
    }

    private static void requireWholeElements(DeviceSegment segment, Kernel kernel) {
        if (segment.from() % kernel.fromBytes() != 0 || segment.to() % kernel.toBytes() != 0) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    segment + " given to " + kernel.entry() + ": addresses must be multiples of " + kernel.fromBytes()
                            + " and " + kernel.toBytes() + " bytes");
        }
    }
}
