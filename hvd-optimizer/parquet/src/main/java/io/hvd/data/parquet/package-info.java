/** Rows of local Parquet and Arrow files as samples, read by groups of rows, with an order that any number of ranks can go on with. */
package io.hvd.data.parquet;
