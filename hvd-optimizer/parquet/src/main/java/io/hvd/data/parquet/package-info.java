/** Rows of local Parquet files as samples, read by row groups, with an order that any number of ranks can go on with. */
package io.hvd.data.parquet;
