/** Settings and batches that are chosen by measuring steps. */
package io.hvd.engine.tuning;
