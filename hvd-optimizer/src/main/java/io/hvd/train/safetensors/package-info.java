/**
 * The file of a checkpoint: the safetensors format with hvd's checksum, read and written piece by piece. Users have {@code
 * io.hvd.train.Checkpoint}.
 */
package io.hvd.train.safetensors;
