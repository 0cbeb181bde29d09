package io.hvd.optimizer.torch.gradient;

import static org.bytedeco.pytorch.global.torch.empty;
import static org.bytedeco.pytorch.global.torch.sparse_coo_tensor;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.graph.PlainCollectives;
import java.util.List;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** The rows of a parameter's gradient that are not zeros, and their numbers. */
record SparseGradient(Tensor indices, Tensor rows) {
    /**
     * This rank's gradient, which is empty if backward has not reached the parameter.
     *
     * @param weight by which it is multiplied; for 0 it is empty, whatever it is
     * @throws HvdException if it is dense
     */
    static SparseGradient of(String name, Tensor parameter, double weight) {
        Tensor gradient = parameter.grad();
        if (!gradient.defined() || weight == 0) {
            return none(parameter);
        }
        if (!gradient.is_sparse()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "the gradient of \"" + name + "\" is dense, expected a sparse one, as the TorchOptimizer was told:"
                            + " make the layer with sparse gradients, or leave this name out");
        }
        Tensor whole = gradient.coalesce();
        return new SparseGradient(
                whole.indices().select(0, 0).contiguous(),
                whole.values().mul(new Scalar(weight)).contiguous());
    }

    private static SparseGradient none(Tensor parameter) {
        Tensor rows = parameter.detach().narrow(0, 0, 0).contiguous();
        TensorOptions numbers = rows.options().dtype(new ScalarTypeOptional(ScalarType.Long));
        return new SparseGradient(empty(new long[] {0}, numbers, new MemoryFormatOptional()), rows);
    }

    /** Size of the rows and of their numbers. */
    long bytes() {
        return indices.nbytes() + rows.nbytes();
    }

    /** A collective: the rows of all ranks. */
    SparseGradient gathered(PlainCollectives ranks, String name) {
        List<Tensor> all = ranks.groupedAllgather(name, List.of(indices, rows));
        return new SparseGradient(all.get(0), all.get(1));
    }

    /** As LibTorch's gradient, in which each row occurs once. */
    Tensor asGradientOf(Tensor parameter) {
        return sparse_coo_tensor(
                        indices.unsqueeze(0), rows, parameter.sizes().vec().get())
                .coalesce();
    }
}
