/** Collectives and other computations of hvd's own inside LibTorch's graph. */
package io.hvd.optimizer.torch.graph;
