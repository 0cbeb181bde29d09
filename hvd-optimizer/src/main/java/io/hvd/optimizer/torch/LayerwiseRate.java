package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.linalg_vector_norm;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import org.bytedeco.pytorch.LongArrayRefOptional;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** What LARS and LAMB have in common: a LibTorch optimizer whose steps are changed layer by layer, on the layers' device. */
final class LayerwiseRate {
    private LayerwiseRate() {}

    /** The Euclidean norm, added up in float64, as a tensor on the same device: the host waits for nothing. */
    static Tensor norm(Tensor values) {
        return linalg_vector_norm(
                values, new Scalar(2.0), new LongArrayRefOptional(), false, new ScalarTypeOptional(ScalarType.Double));
    }

    /** The quotient where both are above 0, else 1. */
    static Tensor ratio(Tensor one, Tensor other, Tensor quotient) {
        return quotient.where(one.gt(new Scalar(0.0)).logical_and(other.gt(new Scalar(0.0))), new Scalar(1.0));
    }

    /** What is done with a layer. */
    interface Use {
        /** @param rate the learning rate of the parameter's group */
        void of(Tensor parameter, double rate);
    }

    /** Goes through the parameters that have a gradient. */
    static void withGradient(Optimizer optimizer, Use use) {
        OptimizerParamGroupVector groups = optimizer.param_groups();
        for (long group = 0; group < groups.size(); group++) {
            TensorVector members = groups.get(group).params();
            double rate = groups.get(group).options().get_lr();
            for (long i = 0; i < members.size(); i++) {
                Tensor parameter = members.get(i);
                if (parameter.grad().defined()) {
                    requireDense(optimizer, parameter.grad());
                    use.of(parameter, rate);
                }
            }
        }
    }

    private static void requireDense(Optimizer optimizer, Tensor gradient) {
        if (gradient.is_sparse()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    optimizer.getClass().getSimpleName() + " steps whole layers, and a gradient is sparse: let it"
                            + " travel as a dense one (sparseAsDense), or step this embedding by another optimizer");
        }
    }

    static double require(boolean valid, String optimizer, String name, double value, String expected) {
        if (!valid) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, optimizer + ": the " + name + " is " + value + ", expected " + expected);
        }
        return value;
    }

    static double requireShare(String optimizer, String name, double value) {
        return require(value >= 0 && value < 1, optimizer, name, value, "at least 0 and less than 1");
    }

    static double requireNotNegative(String optimizer, String name, double value) {
        return require(value >= 0 && value < Double.POSITIVE_INFINITY, optimizer, name, value, "at least 0");
    }
}
