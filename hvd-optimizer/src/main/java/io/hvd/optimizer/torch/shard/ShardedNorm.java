package io.hvd.optimizer.torch.shard;

import static org.bytedeco.pytorch.global.torch.linalg_vector_norm;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LongArrayRefOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** The Euclidean norm of all gradients, of which each rank has its shards: their squares are added up over units and ranks. */
public final class ShardedNorm {
    private final ShardPasses passes;
    private final Ranks ranks;
    private final boolean refusesNonFinite;

    /** @param refusesNonFinite whether {@link #beforeStep} looks at the gradients */
    public ShardedNorm(ShardPasses passes, Ranks ranks, boolean refusesNonFinite) {
        this.passes = passes;
        this.ranks = ranks;
        this.refusesNonFinite = refusesNonFinite;
    }

    /** A collective: scales all gradients down if their norm is larger, as torch's {@code clip_grad_norm_}. @return the norm before */
    public double clip(double most) {
        double norm = measure("clipGradNorm(" + most + ")");
        double factor = most / (norm + 1e-6);
        if (factor < 1) {
            try (PointerScope scope = new PointerScope();
                    NoGradGuard guard = new NoGradGuard()) {
                Scalar by = new Scalar(factor);
                ShardedSteps.withGradient(passes)
                        .forEach(flat -> flat.shard().grad().mul_(by));
            }
        }
        return norm;
    }

    void beforeStep() {
        if (refusesNonFinite) {
            measure("step()");
        }
    }

    /** @throws HvdException on all ranks if a gradient is not finite */
    private double measure(String call) {
        passes.requireOpen();
        List<ShardUnit> units = passes.units();
        double[] squares = new double[units.size()];
        for (int i = 0; i < squares.length; i++) {
            squares[i] = units.get(i).trained().map(ShardedNorm::square).orElse(0.0);
        }
        double[] all = ranks.areSeveral()
                ? (double[]) ranks.set()
                        .allgather(ranks.scope() + "norm", Tensor.of(squares))
                        .toArray()
                : squares;
        for (int i = 0; i < all.length; i++) {
            if (!Double.isFinite(all[i])) {
                throw notFinite(call, units.get(i % squares.length), i / squares.length);
            }
        }
        return Math.sqrt(Arrays.stream(all).sum());
    }

    private static double square(FlatParameter flat) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            if (!flat.shard().grad().defined()) {
                return 0;
            }
            double norm = linalg_vector_norm(
                            flat.shard().grad(),
                            new Scalar(2.0),
                            new LongArrayRefOptional(),
                            false,
                            new ScalarTypeOptional(ScalarType.Double))
                    .item_double();
            return norm * norm;
        }
    }

    private HvdException notFinite(String call, ShardUnit unit, int rank) {
        return new HvdException(
                ErrorId.NON_FINITE,
                call + " on " + ranks.here() + ": the averaged gradients are not finite, first in unit \"" + unit.name()
                        + "\" in the shard of rank " + rank
                        + ", expected finite numbers. No parameter has been changed."
                        + " Look at the losses and batches of all ranks; call zeroGradients() to go on");
    }
}
