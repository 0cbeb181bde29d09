package io.hvd.spark.columns;

/**
 * A column that is read.
 *
 * @param index its place in each row
 */
record Column(String name, int index, ColumnKind kind) {}
