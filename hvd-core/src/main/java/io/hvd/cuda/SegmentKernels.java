package io.hvd.cuda;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Copies, scales and converts many segments of GPU memory in one launch: the tensors of a fused batch into a stage, and
 * back. Methods return as soon as the work is queued on the stream.
 *
 * <p>Segments whose source and destination both begin at multiples of {@link #ALIGNMENT} elements are moved in vectors;
 * others are moved element by element.
 *
 * <p>Only the thread on which the GPU was opened uses it.
 */
public final class SegmentKernels {
    /**
     * The number of elements at whose multiples tensors begin on a stage. All of them then begin at borders of vectors,
     * whatever their types, if the tensors themselves begin at multiples of 16 bytes.
     */
    public static final int ALIGNMENT = 16;

    /** The oldest CUDA version of a driver: the PTX has version 6.3, which drivers accept since CUDA 10.0. */
    public static final int OLDEST_DRIVER = 10000;

    /** The oldest compute capability for which CUDA 13 compiles. */
    public static final int OLDEST_CAPABILITY = 75;

    private static final String RESOURCE = "segments.ptx";
    /** The most blocks of 256 threads on a multiprocessor; if fewer fit, the others run afterwards. */
    private static final int BLOCKS_PER_MULTIPROCESSOR = 8;
    /** The number of launches that may be under way before the next one waits for the first. */
    private static final int TABLES = 4;

    private final CudaCalls cuda;
    private final long module;
    private final TableRing tables;
    private final Map<String, Long> functions = new HashMap<>();

    SegmentKernels(CudaCalls cuda) {
        this.cuda = cuda;
        this.module = cuda.loadModule(ptx());
        this.tables = new TableRing(cuda, TABLES);
    }

    /**
     * Queues the conversion of all segments.
     *
     * @param segments any number of segments; those without elements are skipped
     * @param stream handle of any CUDA stream of this GPU
     * @throws io.hvd.error.HvdException if {@link Conversion#refused} gives a reason, or if an address is not a
     *     multiple of its element's size
     */
    public void convert(List<DeviceSegment> segments, Conversion conversion, long stream) {
        launch(conversion.kernel(false), segments, conversion.scale(), 0, stream);
    }

    /**
     * Converts and scales like {@link #convert}, and sets an int in GPU memory to 1 if it writes an element that is
     * infinite or NaN. Such an element was infinite or NaN before, has become so by the multiplication, or is too large
     * for the type to which it is converted. The int is never set to 0. Integers are always finite.
     *
     * @param nonFinite device address of the int
     */
    public void convertAndCheck(List<DeviceSegment> segments, Conversion conversion, long nonFinite, long stream) {
        launch(conversion.kernel(true), segments, conversion.scale(), nonFinite, stream);
    }

    /** Makes room for launches of so many segments, which then allocate nothing. */
    public void reserve(int segments) {
        tables.reserve(Math.multiplyExact(segments, SegmentTable.ROW_BYTES));
    }

    /** Waits for the work that is under way, then frees everything. */
    void close() {
        tables.close();
        cuda.unloadModule(module);
    }

    private void launch(Kernel kernel, List<DeviceSegment> segments, double scale, long nonFinite, long stream) {
        TableRing.Slot slot = tables.take(Math.multiplyExact(segments.size(), SegmentTable.ROW_BYTES));
        SegmentTable table = SegmentTable.write(segments, kernel, slot.host());
        if (table.rows() == 0) {
            return;
        }
        slot.send(table.rows() * SegmentTable.ROW_BYTES, stream);
        try {
            cuda.launch(
                    functions.computeIfAbsent(kernel.entry(), entry -> cuda.function(module, entry)),
                    new CudaCalls.Grid(blocks(table.tiles()), Kernel.THREADS),
                    new CudaCalls.Arguments(slot.device(), table.rows(), table.tiles(), scale, nonFinite),
                    stream);
        } finally {
            slot.keepFor(stream);
        }
    }

    private int blocks(long tiles) {
        return (int) Math.min(tiles, (long) cuda.multiprocessors() * BLOCKS_PER_MULTIPROCESSOR);
    }

    static String ptx() {
        try (InputStream ptx = SegmentKernels.class.getResourceAsStream(RESOURCE)) {
            return new String(ptx.readAllBytes(), StandardCharsets.US_ASCII);
        } catch (IOException e) {
            throw new UncheckedIOException("reading " + RESOURCE + " from hvd's jar", e);
        }
    }
}
