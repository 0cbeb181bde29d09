/** Batch norms over the batches of all ranks. */
package io.hvd.optimizer.torch.norm;
