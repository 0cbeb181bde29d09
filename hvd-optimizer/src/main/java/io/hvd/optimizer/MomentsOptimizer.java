package io.hvd.optimizer;

import io.hvd.optimizer.arrays.ArrayBuffer;
import io.hvd.optimizer.arrays.Moments;
import java.util.List;
import java.util.Map;

/** The common part of Adam and its relatives: the two running means of each parameter, which are their state. */
abstract sealed class MomentsOptimizer extends ArrayOptimizer permits Adam, AdamW, Lamb {
    final Moments moments;

    MomentsOptimizer(ArrayParameters parameters, double learningRate, Moments moments) {
        super(parameters, learningRate);
        this.moments = moments;
    }

    @Override
    Map<String, Double> constants() {
        return moments.constants();
    }

    @Override
    final List<ArrayBuffer> kinds() {
        return List.of(ArrayBuffer.MEANS, ArrayBuffer.SQUARES_BESIDE_MEANS);
    }

    @Override
    final List<float[]> buffers() {
        return moments.buffers();
    }
}
