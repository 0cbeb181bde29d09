package io.hvd.data.parquet;

import io.hvd.data.Dataset;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;

/**
 * The rows of local files, in the order of the files, as samples: of {@link ParquetDataset Parquet} or {@link ArrowDataset Arrow}.
 *
 * <p><b>Blocks.</b> A row is found by its block of rows that lie together in a file. A block is decoded as a whole when one of its rows is
 * asked for, and the blocks used last are kept. A {@link RowGroupSampler} asks for the rows of few blocks at a time. A sampler that
 * asks for any row next, such as a {@code DistributedSampler}, gets the same rows, slowly.
 *
 * <p><b>Ranks.</b> Each rank opens a data set of its own, also ranks that are threads: what it keeps is for one rank's place.
 *
 * <p><b>Threads.</b> Any thread may read any row at any time, as the workers of a loader do. A file is open only while a block of it
 * is read.
 *
 * @param <T> a sample
 */
public abstract sealed class RowDataset<T> implements Dataset<T> permits ParquetDataset, ArrowDataset {
    private final RowBlocks blocks;
    private final BlockCache cache;
    private final Function<? super Row, ? extends T> sample;

    RowDataset(RowFile.Format format, Builder<T, ?> builder) {
        blocks = RowBlocks.of(format, builder.files, builder.columns, builder.blockRows);
        cache = new BlockCache(builder.cachedBlocks, blocks::read);
        sample = builder.sample;
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
     * What a data set reads, and how much of it it keeps. It begins with all columns, blocks of at most 10,000 rows, and 8 blocks that
     * are kept.
     *
     * @param <T> a sample
     * @param <D> the data set
     */
    public static final class Builder<T, D extends RowDataset<T>> {
        private final Function<Builder<T, D>, D> format;
        private final List<Path> files;
        private final Function<? super Row, ? extends T> sample;
        private List<String> columns = List.of();
        private int blockRows = 10_000;
        private int cachedBlocks = 8;

        Builder(Function<Builder<T, D>, D> format, List<Path> files, Function<? super Row, ? extends T> sample) {
            this.format = format;
            this.files = List.copyOf(files);
            this.sample = Objects.requireNonNull(sample, "sample");
        }

        /** Keeps these columns and no others; of a Parquet file, others are not even read. */
        public Builder<T, D> columns(String... names) {
            columns = List.of(names);
            return this;
        }

        /** Row groups of Parquet files with more rows are divided. Smaller blocks take less memory and time for the first row, larger ones mix better. */
        public Builder<T, D> blockRows(int most) {
            blockRows = requirePositive("blockRows", most);
            return this;
        }

        /** Twice a {@link RowGroupSampler}'s window lets the workers of a loader go ahead into the next one. */
        public Builder<T, D> cachedBlocks(int most) {
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
         * Reads what the files say of themselves.
         *
         * @throws HvdException with {@link ErrorId#BAD_DATA_SET} if a file is missing or of another format, lacks a column, or has
         *     one of another type than the first file; the message names both files
         */
        public D build() {
            return format.apply(this);
        }
    }
}
