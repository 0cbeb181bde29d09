/**
 * Batches in GPU memory: {@link io.hvd.data.cuda.DeviceLoader} reads on workers into pinned host memory and copies on a
 * stream of its own, while the GPU computes on the batch before.
 */
package io.hvd.data.cuda;
