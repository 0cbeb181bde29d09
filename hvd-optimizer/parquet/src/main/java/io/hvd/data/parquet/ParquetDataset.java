package io.hvd.data.parquet;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;

/**
 * The rows of local Parquet files. Nothing but the files' footers is read to open it.
 *
 * <pre>{@code
 * var rows = ParquetDataset.builder(files, row -> new Sample(row.floats("pixels"), row.getInt("label")))
 *         .columns("pixels", "label")
 *         .build();
 * var sampler = RowGroupSampler.builder(rows, hvd.size(), hvd.rank()).seed(42).build();
 * }</pre>
 *
 * <p><b>Blocks</b> are row groups, or parts of one where it has many rows. Where a file has a page index, only the pages of the block are
 * read; without one, a block is a whole row group, however long that is. parquet-java and Spark write page indices, pyarrow with {@code
 * write_page_index=True}.
 *
 * <p><b>Columns.</b> Numbers, booleans, texts, bytes, and lists of floats; other columns may be there, but not be asked for. Pages may be
 * compressed with Snappy, gzip, Zstandard or raw LZ4.
 *
 * <p><b>Hadoop.</b> The library that reads the files (parquet-java) needs a few classes of Hadoop's, which parquet-floor brings. In a
 * program that has Hadoop itself on its class path, leave out parquet-floor and name parquet-hadoop.
 *
 * @param <T> a sample
 */
public final class ParquetDataset<T> extends RowDataset<T> {
    private ParquetDataset(Builder<T, ParquetDataset<T>> builder) {
        super(ParquetFile::open, builder);
    }

    /**
     * Begins with all columns, blocks of at most 10,000 rows, and 8 blocks that are kept.
     *
     * @param files with the same columns; the same on every rank, in the same order
     * @param sample makes a sample of a row, on the threads that read
     */
    public static <T> Builder<T, ParquetDataset<T>> builder(
            List<Path> files, Function<? super Row, ? extends T> sample) {
        return new Builder<>(ParquetDataset::new, files, sample);
    }
}
