package io.hvd.optimizer.torch.norm;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.graph.GraphHook;
import org.bytedeco.javacpp.BoolPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.T_TensorTensorTensor_T;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Completes the gradient of a normalisation whose mean and variance LibTorch has taken for constants. With d the gradient that it
 * brings, x' the normalised input without weight and bias, and all sums over the N values of all ranks, the gradient is
 * <pre>
 *   d - sum(d) / N - x' * sum(d * x') / N
 * </pre>
 * (S. Ioffe, C. Szegedy, "Batch Normalization", ICML 2015, section 3). The ranks add up both sums in one allreduce.
 */
public final class MomentsHook extends GraphHook {
    private final ProcessSet set;
    private final String name;
    private final Tensor input;
    private final BatchMoments moments;
    private final double epsilon;

    /** @param input without a graph */
    MomentsHook(ProcessSet set, String name, Tensor input, BatchMoments moments, double epsilon) {
        super(witnessOf(input));
        this.set = set;
        this.name = name;
        this.input = input.retainReference();
        this.moments = new BatchMoments(
                moments.count(),
                moments.mean().retainReference(),
                moments.variance().retainReference());
        this.epsilon = epsilon;
    }

    @Override
    protected Tensor replaced(Tensor brought) {
        if (GradMode.is_enabled()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "backward with create_graph through \"" + name
                            + "\": SyncBatchNorm has no gradient of second order");
        }
        try (PointerScope scope = new PointerScope()) {
            long features = input.size(1);
            // Where this rank's loss does not depend on the output, those of the other ranks still do on its input.
            Tensor gradient = brought == null ? torch.zeros_like(input) : brought;
            Tensor sums = sums(gradient);
            BatchMoments.add(set, name, sums);
            sums.div_(new Scalar(moments.count()));
            ScalarType type = moments.mean().scalar_type();
            Tensor mean = sums.narrow(0, 0, features).to(type);
            Tensor slope = sums.narrow(0, features, features).to(type);
            Tensor excess = moments.normalise(input, new TensorOptional(slope), new TensorOptional(mean), epsilon);
            return gradient.sub(excess).retainReference();
        }
    }

    /** This rank's sum of d per feature, then that of d * x', in double precision. */
    private Tensor sums(Tensor gradient) {
        long features = input.size(1);
        if (input.numel() == 0) {
            return torch.zeros(new long[] {2 * features}, input.options()).to(ScalarType.Double);
        }
        T_TensorTensorTensor_T found = torch.native_batch_norm_backward(
                gradient,
                input,
                new TensorOptional(),
                new TensorOptional(wide(moments.mean())),
                new TensorOptional(wide(moments.variance())),
                new TensorOptional(),
                new TensorOptional(),
                false,
                epsilon,
                new BoolPointer(3).put(0, false).put(1, true).put(2, true));
        return torch.cat(new TensorVector(
                found.get2().to(ScalarType.Double), found.get1().to(ScalarType.Double)));
    }

    /** Beside statistics in single precision LibTorch adds up 16-bit gradients in single precision too. */
    private static Tensor wide(Tensor statistics) {
        return BatchMoments.isHalf(statistics.scalar_type().intern()) ? statistics.to(ScalarType.Float) : statistics;
    }

    @Override
    protected void end() {
        input.releaseReference();
        moments.mean().releaseReference();
        moments.variance().releaseReference();
    }
}
