/** Rows of Spark as records of a fixed length, and batches of them as arrays. */
package io.hvd.spark.columns;
