package io.hvd.optimizer.reduce;

import io.hvd.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Gradients of a bucket that a compression leaves as they are. */
final class Uncompressed {
    private Uncompressed() {}

    /**
     * Averages them in place.
     *
     * @param gradients by the names of their parameters, which are not confused with the compression's own words
     */
    static CompletableFuture<Void> average(GradientBucket bucket, Map<String, Tensor> gradients) {
        Map<String, Tensor> named = new LinkedHashMap<>();
        gradients.forEach((name, gradient) -> named.put("plain." + name, gradient));
        return named.isEmpty() ? CompletableFuture.completedFuture(null) : bucket.average(named);
    }
}
