/** LibTorch's tensors as memory: views, copies, streams of GPUs. */
package io.hvd.optimizer.torch.memory;
