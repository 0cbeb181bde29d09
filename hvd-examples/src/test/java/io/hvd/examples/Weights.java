package io.hvd.examples;

import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.Map;

/** Checkpoints of trainings that added up in different orders. */
final class Weights {
    private Weights() {}

    /** Over all weights; what an optimizer has written down is bytes, and left out. */
    static double largestDifference(Map<String, Tensor> some, Map<String, Tensor> others) {
        double largest = 0;
        for (Map.Entry<String, Tensor> entry : some.entrySet()) {
            if (entry.getValue().dtype() == DType.FLOAT32) {
                float[] a = entry.getValue().toFloatArray();
                float[] b = others.get(entry.getKey()).toFloatArray();
                for (int i = 0; i < a.length; i++) {
                    largest = Math.max(largest, Math.abs(a[i] - b[i]));
                }
            }
        }
        return largest;
    }
}
