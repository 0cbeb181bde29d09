package io.hvd.optimizer.reduce;

import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Sends a byte for each element: its place between the smallest and the largest element of its block of 1,024. Every rank
 * averages a share of the blocks, which it gets in an alltoall, and sends the averages on as bytes too, in an allgather. What the
 * two roundings leave out is added to the next step's gradient.
 *
 * <p>(Bagua's ByteGrad: S. Gan et al., "BAGUA: Scaling up Distributed Learning with System Relaxations", VLDB 2022. The memory of
 * both roundings: H. Tang et al., "DoubleSqueeze", ICML 2019.)
 *
 * <p>Types other than float32 travel as they are. A reducer belongs to one optimizer and keeps a number for each element. It drops
 * them when the optimizer takes over another state; they are not part of a checkpoint. If a gradient of a rank is not finite, the
 * average of its block is NaN everywhere. While a rank has joined, it fails.
 */
public final class Int8 implements GradientReducer {
    private final OneOptimizer owner = new OneOptimizer(this);
    private final ErrorMemory errors = new ErrorMemory();

    /** All ranks make one for each of their optimizers. */
    public Int8() {}

    @Override
    public CompletableFuture<GradientBucket> reduce(GradientBucket bucket) {
        owner.require(bucket);
        List<ByteBlock> blocks = new ArrayList<>();
        Map<String, Tensor> plain = new LinkedHashMap<>();
        bucket.byName().forEach((name, tensor) -> {
            if (tensor.dtype() == DType.FLOAT32 && tensor.elements() <= Integer.MAX_VALUE / 2) {
                blocks.addAll(ByteBlock.of(tensor, errors.of(name, (int) tensor.elements())));
            } else {
                plain.put(name, tensor);
            }
        });
        CompletableFuture<Void> uncompressed = Uncompressed.average(bucket, plain);
        return blocks.isEmpty()
                ? uncompressed.thenApply(done -> bucket)
                : new ByteExchange(bucket, blocks).run().thenCombine(uncompressed, (done, others) -> bucket);
    }

    @Override
    public String settings() {
        return "Int8";
    }

    /** A copy of what was left out of the gradients of a parameter so far; empty for one that was never compressed. */
    public float[] leftOut(String parameter) {
        return errors.copyOf(parameter);
    }

    @Override
    public long stateBytes() {
        return errors.bytes();
    }

    @Override
    public void stateLoaded() {
        errors.clear();
    }
}
