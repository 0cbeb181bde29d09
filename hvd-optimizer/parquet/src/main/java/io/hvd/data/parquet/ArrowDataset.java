package io.hvd.data.parquet;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;

/**
 * The rows of local Arrow files: those of Arrow's IPC file format, which is Feather's second version too, not streams.
 *
 * <pre>{@code
 * var rows = ArrowDataset.builder(files, row -> new Sample(row.floats("pixels"), row.getInt("label"))).build();
 * var sampler = RowGroupSampler.builder(rows, hvd.size(), hvd.rank()).seed(42).build();
 * }</pre>
 *
 * <p><b>Blocks</b> are record batches, however long they are, and all columns of a batch are read: write some thousand rows into
 * each, as pyarrow's {@code max_chunksize} and Feather's {@code chunksize} say.
 *
 * <p><b>Columns.</b> A {@link Row} has integers of up to 32 bits, dates and times of 32 bits by {@code getInt}; of 64 bits by
 * {@code getLong}, as unsigned ones of 32; floating point of 32 and 64 bits by {@code getFloat} and {@code getDouble}; booleans; texts and bytes
 * by {@code getString} and {@code getBinary}; lists of floats of 32 bits, of fixed sizes too, by {@code floats}. A column that is encoded
 * by a dictionary has its values. Other columns may be there, but not be asked for.
 *
 * <p><b>Libraries.</b> A program that reads Arrow files has {@code org.apache.arrow:arrow-vector} and {@code arrow-memory-unsafe} on its
 * class path, and {@code arrow-compression} where buffers are compressed with LZ4 or Zstandard. Java is started with {@code
 * --add-opens=java.base/java.nio=ALL-UNNAMED}, or the manifest of its jar has {@code Add-Opens: java.base/java.nio}.
 *
 * @param <T> a sample
 */
public final class ArrowDataset<T> extends RowDataset<T> {
    private ArrowDataset(Builder<T, ArrowDataset<T>> builder) {
        super(ArrowDataset::open, builder);
    }

    private static RowFile open(Path path, List<String> columns) {
        try {
            return ArrowFile.open(path, columns);
        } catch (LinkageError e) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "Arrow files need org.apache.arrow:arrow-vector and org.apache.arrow:arrow-memory-unsafe on the class"
                            + " path: " + (e.getCause() == null ? e : e.getCause()).getMessage(),
                    e);
        }
    }

    /**
     * Begins with all columns, and 8 blocks that are kept.
     *
     * @param files with the same columns; the same on every rank, in the same order
     * @param sample makes a sample of a row, on the threads that read
     */
    public static <T> Builder<T, ArrowDataset<T>> builder(List<Path> files, Function<? super Row, ? extends T> sample) {
        return new Builder<>(ArrowDataset::new, files, sample);
    }
}
