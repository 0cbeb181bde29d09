package io.hvd.optimizer.torch.shard;

import io.hvd.Handle;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * The gradient of a flat parameter: LibTorch adds those of the parameters up in one vector, in the type in which the unit computes, and the shard of its
 * average is added to the shard's own gradient, in the type of the shard.
 */
final class FlatGradient {
    private final String unit;
    private final String name;
    private final FlatLayout layout;
    private final Ranks ranks;
    private final BlockPool pool;
    private final List<Tensor> parameters;
    private final Tensor shard;
    private final TensorOptions options;

    /** What backward adds to; null before it has come to a parameter. */
    private Tensor gradient;
    /** The gradient on its way; null if there is none. */
    private Reduction leaving;
    /** The memory of the shard's gradient; null before the first. */
    private Tensor shardGradient;

    private record Reduction(Handle handle, Tensor whole, Tensor mine) {}

    /** @param options the type and device of the parameters' gradients */
    FlatGradient(
            String unit,
            String name,
            FlatLayout layout,
            Ranks ranks,
            BlockPool pool,
            List<Tensor> parameters,
            Tensor shard,
            TensorOptions options) {
        this.unit = unit;
        this.name = name;
        this.layout = layout;
        this.ranks = ranks;
        this.pool = pool;
        this.parameters = parameters;
        this.shard = shard;
        this.options = options.retainReference();
    }

    /** Bytes of whole gradients that this rank holds now. */
    long bytesPresent() {
        return (gradient == null ? 0 : gradient.nbytes()) + (leaving == null ? 0 : leaving.whole.nbytes());
    }

    /** From here on LibTorch adds the parameters' gradients up in one vector, which begins with zeros. */
    void collect() {
        if (gradient != null) {
            return;
        }
        try (PointerScope scope = new PointerScope()) {
            gradient = pool.take(layout.padded(), options);
            gradient.zero_();
            for (int i = 0; i < parameters.size(); i++) {
                FlatLayout.Entry entry = layout.entries().get(i);
                parameters
                        .get(i)
                        .mutable_grad()
                        .put(gradient.narrow(0, entry.offset(), entry.elements())
                                .view(entry.shape().toArray()));
            }
        }
    }

    /** Starts the reducescatter of the gradient, of zeros if there is none. */
    void reduce() {
        collect();
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            parameters.forEach(parameter -> parameter.mutable_grad().put(new Tensor()));
            Tensor whole = gradient;
            gradient = null;
            Tensor mine = startsAnew() ? ownGradient() : pool.take(layout.shard(), whole.options());
            if (ranks.areSeveral()) {
                leaving = new Reduction(ranks.reduce(name + ".reduce", whole, mine), whole, mine);
            } else {
                mine.copy_(whole);
                leaving = new Reduction(null, whole, mine);
            }
        }
    }

    /** Whether the average is the shard's gradient as it comes: nothing is to be added or converted. */
    private boolean startsAnew() {
        return !shard.grad().defined()
                && shard.scalar_type().value == options.dtype().toScalarType().value;
    }

    /** Its memory stays from step to step. */
    private Tensor ownGradient() {
        if (shardGradient == null) {
            shardGradient = torch.zeros_like(shard.detach()).retainReference();
        }
        return shardGradient;
    }

    boolean isReducing() {
        return leaving != null;
    }

    /** A collective: adds this rank's shard of the average to the shard's gradient. */
    void reduced() {
        if (leaving == null) {
            return;
        }
        Reduction done = leaving;
        leaving = null;
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            if (done.handle != null) {
                Ranks.await(done.handle, unit, Ranks.alias(name, done.mine));
            }
            add(done.mine);
        } finally {
            pool.give(done.whole);
            if (done.mine != shardGradient) {
                pool.give(done.mine);
            }
        }
    }

    private void add(Tensor average) {
        if (shard.grad().defined()) {
            shardGradient.add_(average);
            return;
        }
        if (average != shardGradient) {
            ownGradient().copy_(average);
        }
        shard.mutable_grad().put(shardGradient);
    }

    /** Forgets the gradient that backward has not brought to its end, and what travels: no rank waits for it here. */
    void abandon() {
        parameters.forEach(parameter -> parameter.mutable_grad().put(new Tensor()));
        if (gradient != null) {
            gradient.releaseReference();
            gradient = null;
        }
        if (leaving != null) {
            Reduction left = leaving;
            leaving = null;
            if (left.mine == shardGradient) {
                shardGradient = null; // which the ranks may still write into
            }
            Ranks.whenDone(left.handle, List.of(left.mine, left.whole));
        }
    }

    /** Forgets the shard's gradient. */
    void zero() {
        shard.mutable_grad().put(new Tensor());
    }

    void close() {
        abandon();
        zero();
        if (shardGradient != null) {
            shardGradient.releaseReference();
        }
        options.releaseReference();
    }
}
