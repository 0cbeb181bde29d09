/** The state of a LibTorch optimizer as bytes. */
package io.hvd.optimizer.torch.state;
