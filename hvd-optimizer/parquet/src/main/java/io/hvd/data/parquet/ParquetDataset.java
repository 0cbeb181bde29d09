package io.hvd.data.parquet;

import io.hvd.data.Dataset;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;

/**
 * The rows of local Parquet files, in the order of the files, as samples. Nothing but the files' footers is read to open it.
 *
 * <pre>{@code
 * var rows = ParquetDataset.builder(files, row -> new Sample(row.floats("pixels"), row.getInt("label")))
 *         .columns("pixels", "label")
 *         .build();
 * var sampler = RowGroupSampler.builder(rows, hvd.size(), hvd.rank()).seed(42).build();
 * }</pre>
 *
 * <p><b>Blocks.</b> A row is found by its block: a row group, or a part of one where it has many rows. A block is decoded as a
 * whole when one of its rows is asked for, and the blocks used last are kept. Where a file has a page index, only the pages of the block are
 * read; without one, a block is a whole row group, however long that is. parquet-java and Spark write page indices, pyarrow with {@code
 * write_page_index=True}. A {@link RowGroupSampler} asks for the rows of few blocks at a time. A sampler that asks for any row next, such as
 * a {@code DistributedSampler}, gets the same rows, slowly.
 *
 * <p><b>Columns.</b> Numbers, booleans, texts, bytes, and lists of floats; other columns may be there, but not be asked for. Pages may be
 * compressed with Snappy, gzip, Zstandard or raw LZ4.
 *
 * <p><b>Ranks.</b> Each rank opens a data set of its own, also ranks that are threads: what it keeps is for one rank's place.
 *
 * <p><b>Hadoop.</b> The library that reads the files (parquet-java) needs a few classes of Hadoop's, which parquet-floor brings. In a
 * program that has Hadoop itself on its class path, leave out parquet-floor and name parquet-hadoop.
 *
 * <p><b>Threads.</b> Any thread may read any row at any time, as the workers of a loader do. A file is open only while a block of it
 * is read.
 *
 * @param <T> a sample
 */
public final class ParquetDataset<T> implements Dataset<T> {
    private final RowBlocks blocks;
    private final BlockCache cache;
    private final Function<? super Row, ? extends T> sample;

    private ParquetDataset(Builder<T> builder) {
        blocks = RowBlocks.of(builder.files, builder.columns, builder.blockRows);
        cache = new BlockCache(builder.cachedBlocks, blocks::read);
        sample = builder.sample;
    }

    /**
     * Begins with all columns, blocks of at most 10,000 rows, and 8 blocks that are kept.
     *
     * @param files with the same columns; the same on every rank, in the same order
     * @param sample makes a sample of a row, on the threads that read
     */
    public static <T> Builder<T> builder(List<Path> files, Function<? super Row, ? extends T> sample) {
        return new Builder<>(files, sample);
    }

    @Override
    public int size() {
        return blocks.rows();
    }

    /**
     * Makes the sample of a row.
     *
     * @throws IndexOutOfBoundsException if there is no such row
     * @throws HvdException with {@link ErrorId#BAD_DATA_SET} if the row cannot be read, or the function asks for another type
     *     than a column has; the message names the file, the column, the type found and the type expected
     * @throws InterruptedException if the thread is interrupted while another one decodes the block
     */
    @Override
    public T get(int index) throws InterruptedException {
        Objects.checkIndex(index, size());
        int block = blocks.holding(index);
        return sample.apply(new Row(cache.get(block), index - blocks.first(block)));
    }

    /** Blocks of decoded rows that are kept at most. */
    public int cachedBlocks() {
        return cache.most();
    }

    /** How often a block has been decoded. A rank needs about as many as it has row groups or, of large ones, parts; many more tell of too few that are kept. */
    public long blocksDecoded() {
        return cache.decoded();
    }

    RowBlocks blocks() {
        return blocks;
    }

    /**
     * What a {@link ParquetDataset} reads, and how much of it it keeps.
     *
     * @param <T> a sample
     */
    public static final class Builder<T> {
        private final List<Path> files;
        private final Function<? super Row, ? extends T> sample;
        private List<String> columns = List.of();
        private int blockRows = 10_000;
        private int cachedBlocks = 8;

        private Builder(List<Path> files, Function<? super Row, ? extends T> sample) {
            this.files = List.copyOf(files);
            this.sample = Objects.requireNonNull(sample, "sample");
        }

        /** Reads these columns and no others: what is not named costs nothing. */
        public Builder<T> columns(String... names) {
            columns = List.of(names);
            return this;
        }

        /** Row groups with more rows are divided. Smaller blocks take less memory and time for the first row, larger ones mix better. */
        public Builder<T> blockRows(int most) {
            blockRows = requirePositive("blockRows", most);
            return this;
        }

        /** Twice a {@link RowGroupSampler}'s window lets the workers of a loader go ahead into the next one. */
        public Builder<T> cachedBlocks(int most) {
            cachedBlocks = requirePositive("cachedBlocks", most);
            return this;
        }

        private static int requirePositive(String name, int number) {
            if (number < 1) {
                throw new HvdException(ErrorId.BAD_ARGUMENT, name + "(" + number + "): expected at least 1");
            }
            return number;
        }

        /**
         * Reads the footers.
         *
         * @throws HvdException with {@link ErrorId#BAD_DATA_SET} if a file is missing or is no Parquet file, lacks a column, or has
         *     one of another type than the first file; the message names both files
         */
        public ParquetDataset<T> build() {
            return new ParquetDataset<>(this);
        }
    }
}
