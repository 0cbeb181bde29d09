package io.hvd.cuda;

import io.hvd.tensor.DType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * An entry point of segments.cu, and the sizes of its element types for the table of segments.
 *
 * @param run number of elements of a vector: 16 bytes of the wider type, or one element
 */
record Kernel(String entry, int fromBytes, int toBytes, int run) {
    static final int THREADS = 256;
    private static final int VECTOR_BYTES = 16;

    static Kernel copy(int bytes) {
        return new Kernel("hvd_copy_" + bytes, bytes, bytes, VECTOR_BYTES / bytes);
    }

    /** The kernel for two types between which {@link Conversion} can convert. */
    static Kernel converting(DType from, DType to) {
        int run = from.isFloating() ? VECTOR_BYTES / Math.max(from.bytes(), to.bytes()) : 1;
        return new Kernel("hvd_" + from + "_to_" + to, from.bytes(), to.bytes(), run);
    }

    /** All kernels that conversions use. */
    static List<Kernel> all() {
        List<Kernel> all = new ArrayList<>();
        for (int bytes : new int[] {1, 2, 4, 8}) {
            all.add(copy(bytes));
        }
        for (DType from : DType.values()) {
            Arrays.stream(DType.values())
                    .filter(to -> new Conversion(from, to, 2.0).refused().isEmpty())
                    .forEach(to -> all.add(converting(from, to)));
        }
        return List.copyOf(all);
    }

    /**
     * The number of elements of a tile, which a block processes at once: four vectors per thread, or two of small
     * elements.
     */
    int tileElements() {
        return THREADS * run * (run > 4 ? 2 : 4);
    }

    /** The number of tiles of a segment; the first tile begins at the border of a vector before the destination. */
    long tiles(DeviceSegment segment) {
        long lead = Long.remainderUnsigned(segment.to() / toBytes, run);
        return (segment.count() + lead + tileElements() - 1) / tileElements();
    }
}
