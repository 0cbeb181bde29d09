/** The parameters and parameter groups of a LibTorch optimizer. */
package io.hvd.optimizer.torch.parameter;
