package io.hvd.spark;

import io.hvd.data.mapped.MappedDataset;
import io.hvd.spark.columns.ReadColumns;
import io.hvd.spark.columns.RowLayout;
import java.util.Optional;

/**
 * The rows of a partition as records of one length, in memory that the kernel may write to a file and drop.
 *
 * @param layout empty if there is no row
 */
record Spill(MappedDataset records, ReadColumns columns, Optional<RowLayout> layout) {}
