/** The record of the memory outside Java's heap that hvd has, {@link io.hvd.buffer.BufferLedger}. */
package io.hvd.buffer;
