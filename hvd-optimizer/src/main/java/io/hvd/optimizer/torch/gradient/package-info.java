/** From the hook that LibTorch calls for a parameter to the gradient that its optimizer steps with. */
package io.hvd.optimizer.torch.gradient;
