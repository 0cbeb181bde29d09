package io.hvd.backend.cuda;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Copies, scales and converts many segments of GPU memory by one launch: the tensors of a fused batch into a stage, and
 * back. What is called returns once the work is queued on the stream.
 *
 * <p>Segments whose source and destination both begin at multiples of {@link #ALIGNMENT} elements go as fast as memory
 * allows; others go element by element.
 *
 * <p>For the thread on which the GPU was opened.
 */
public final class SegmentKernels {
    /**
     * A stage in which every tensor begins at a multiple of so many elements has all of them at the borders of vectors,
     * whatever the types, as far as the tensors themselves begin at multiples of 16 bytes.
     */
    public static final int ALIGNMENT = 16;

    /** The PTX is of version 6.3, which the drivers of CUDA 10.0 are the first to take. */
    public static final int OLDEST_DRIVER = 10000;

    /** CUDA 13 compiles for nothing older. */
    public static final int OLDEST_CAPABILITY = 75;

    private static final String RESOURCE = "segments.ptx";
    /** Up to so many blocks of 256 threads fit on a multiprocessor; where fewer do, the others follow. */
    private static final int BLOCKS_PER_MULTIPROCESSOR = 8;
    /** Launches that may be under way before the next one waits for the first. */
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
     * @param segments in any number; those without elements are passed over
     * @param stream handle of any CUDA stream of this GPU
     * @throws io.hvd.error.HvdException where {@link Conversion#refused} says why, or if an address is no multiple of
     *     its element's size
     */
    public void convert(List<Segment> segments, Conversion conversion, long stream) {
        launch(conversion.kernel(false), segments, conversion.scale(), 0, stream);
    }

    /**
     * Converts and scales as above, and sets an int in GPU memory to 1 if any element was written that is infinite or
     * no number: one that
     * was so before, became so when it was multiplied, or is too large for the type it was converted to. The int is
     * never set to 0. Integers are always finite.
     *
     * @param nonFinite device address of the int
     */
    public void convertAndCheck(List<Segment> segments, Conversion conversion, long nonFinite, long stream) {
        launch(conversion.kernel(true), segments, conversion.scale(), nonFinite, stream);
    }

    /** Waits for what is under way. */
    void close() {
        tables.close();
        cuda.unloadModule(module);
    }

    private void launch(Kernel kernel, List<Segment> segments, double scale, long nonFinite, long stream) {
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
