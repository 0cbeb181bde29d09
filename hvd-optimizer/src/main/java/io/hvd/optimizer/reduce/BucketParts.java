package io.hvd.optimizer.reduce;

import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.BiPredicate;
import java.util.function.Function;

/** The gradients of a bucket that a reducer compresses, made into what it works on; the others are averaged as they are. */
final class BucketParts<P> {
    private final GradientBucket bucket;
    private final List<P> compressed = new ArrayList<>();
    private final Map<String, Tensor> plain = new LinkedHashMap<>();

    private BucketParts(GradientBucket bucket) {
        this.bucket = bucket;
    }

    /** @param part is called for the gradients that are compressed, in their order */
    static <P> BucketParts<P> of(
            GradientBucket bucket, BiPredicate<String, Tensor> compresses, BiFunction<String, Tensor, P> part) {
        BucketParts<P> parts = new BucketParts<>(bucket);
        bucket.byName().forEach((name, tensor) -> {
            if (compresses.test(name, tensor)) {
                parts.compressed.add(part.apply(name, tensor));
            } else {
                parts.plain.put(name, tensor);
            }
        });
        return parts;
    }

    /** Averages the others and starts the reduction of the compressed ones, if there are any; ends with both. */
    CompletableFuture<GradientBucket> reduce(Function<List<P>, CompletableFuture<Void>> reduction) {
        CompletableFuture<Void> uncompressed = Uncompressed.average(bucket, plain);
        return compressed.isEmpty()
                ? uncompressed.thenApply(done -> bucket)
                : reduction.apply(compressed).thenCombine(uncompressed, (done, others) -> bucket);
    }
}
