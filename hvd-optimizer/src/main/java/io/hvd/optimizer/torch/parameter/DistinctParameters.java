package io.hvd.optimizer.torch.parameter;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroup;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * Has a LibTorch optimizer step each parameter once. A layer that is registered under two names stands twice in the {@code parameters()} of
 * LibTorch's C++ modules, whose optimizers would make two steps with its weights and could not load their own state again; torch's
 * {@code parameters()} in Python names it once.
 */
public final class DistinctParameters {
    /** The parameter group of each parameter by its identity. */
    private final Map<Long, Long> groups = new HashMap<>();

    private final Function<Tensor, String> name;

    private DistinctParameters(Function<Tensor, String> name) {
        this.name = name;
    }

    /**
     * Takes repetitions out of the optimizer's parameter groups.
     *
     * @param name of a parameter, for messages
     * @throws HvdException if a parameter is in two groups, whose options may differ; torch refuses that too
     */
    public static void in(Optimizer optimizer, Function<Tensor, String> name) {
        DistinctParameters distinct = new DistinctParameters(name);
        try (PointerScope scope = new PointerScope()) {
            OptimizerParamGroupVector all = optimizer.param_groups();
            for (long i = 0; i < all.size(); i++) {
                distinct.reduce(all.get(i), i);
            }
        }
    }

    private void reduce(OptimizerParamGroup group, long number) {
        TensorVector members = group.params();
        List<Tensor> once = new ArrayList<>();
        for (long i = 0; i < members.size(); i++) {
            Tensor member = new Tensor(members.get(i));
            Long before = groups.putIfAbsent(identity(member), number);
            if (before == null) {
                once.add(member);
            } else if (before != number) {
                throw new HvdException(
                        ErrorId.OPTIMIZER_MISUSE,
                        "parameter \"" + name.apply(member) + "\" is in the parameter groups " + before + " and "
                                + number + " of the optimizer, expected each parameter in one group");
            }
        }
        if (once.size() < members.size()) {
            members.put(new TensorVector(once.toArray(Tensor[]::new)));
        }
    }

    /** Identifies a parameter: references to one and the same have the same number. */
    public static long identity(Tensor tensor) {
        return tensor.unsafeGetTensorImpl().address();
    }
}
