package io.hvd.optimizer.torch.parameter;

import java.util.Map;

/** A LibTorch optimizer with numbers that LibTorch's options have no place for, and that must be the same on all ranks. */
public interface OptimizerConstants {
    /** What the constructor has set beside the options, by name. */
    Map<String, Double> constants();
}
