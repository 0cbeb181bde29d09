package io.hvd.optimizer.torch;

import java.util.Map;
import org.bytedeco.pytorch.AnyModuleVector;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SequentialImpl;
import org.bytedeco.pytorch.StringSharedModuleDict;
import org.bytedeco.pytorch.Tensor;

/**
 * A {@code SequentialImpl} whose layers are called from Java one after the other, because LibTorch would not call those that are
 * written in Java. It shares its native layers with the one whose place it takes, and needs that one no more.
 */
final class SyncSequential extends SequentialImpl {
    private final Map<Long, Step> steps;

    /** @param steps what forward calls in the place of native layers, by their places */
    SyncSequential(SequentialImpl replaced, Map<Long, Step> steps) {
        this.steps = Map.copyOf(steps);
        StringSharedModuleDict names = replaced.named_children();
        AnyModuleVector.Iterator each = replaced.begin();
        for (long i = 0; i < replaced.size(); i++) {
            push_back(names.get(i).key().getString(), each.get());
            each.increment();
        }
    }

    /** A layer as Java calls it. */
    interface Step {
        Tensor forward(Tensor input);
    }

    static Step step(Module synchronised) {
        if (synchronised instanceof SyncBatchNorm1d layer) {
            return layer::forward;
        } else if (synchronised instanceof SyncBatchNorm2d layer) {
            return layer::forward;
        }
        return ((SyncBatchNorm3d) synchronised)::forward;
    }

    /** Goes through this sequence's own native layers, which are where they were only until the next one is pushed. */
    @Override
    public Tensor forward(Tensor input) {
        Tensor x = input;
        AnyModuleVector.Iterator each = begin();
        for (long i = 0; i < size(); i++) {
            Step step = steps.get(i);
            x = step != null ? step.forward(x) : each.get().forward(x);
            each.increment();
        }
        return x;
    }
}
