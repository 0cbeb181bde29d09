/** LibTorch's native libraries: unpacked, found, loaded, and the threads that they use. */
package io.hvd.optimizer.torch.natives;
