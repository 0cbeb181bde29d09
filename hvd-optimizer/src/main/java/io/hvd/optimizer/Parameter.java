package io.hvd.optimizer;

import io.hvd.tensor.Tensor;

/**
 * One trainable tensor and the place of its gradient.
 *
 * @param name the same on every rank
 * @param value what the optimizer steps
 * @param gradient where this rank's gradient lies when it is ready, and the averaged one afterwards; without rows if it travels
 *     by {@link GradientSource#exchangeSparse}
 */
public record Parameter(String name, Tensor value, Tensor gradient) {}
