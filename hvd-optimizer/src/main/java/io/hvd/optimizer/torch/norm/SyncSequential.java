package io.hvd.optimizer.torch.norm;

import java.util.Map;
import org.bytedeco.pytorch.AnyModuleVector;
import org.bytedeco.pytorch.SequentialImpl;
import org.bytedeco.pytorch.StringSharedModuleDict;
import org.bytedeco.pytorch.Tensor;

/**
 * A {@code SequentialImpl} whose layers are called from Java one after the other, because LibTorch would not call those that are
 * written in Java. It shares its native layers with the one whose place it takes, and needs that one no more.
 */
public final class SyncSequential extends SequentialImpl {
    private final Map<Long, NormLayer> steps;

    /** @param steps what forward calls in the place of native layers, by their places */
    public SyncSequential(SequentialImpl replaced, Map<Long, NormLayer> steps) {
        this.steps = Map.copyOf(steps);
        StringSharedModuleDict names = replaced.named_children();
        AnyModuleVector.Iterator each = replaced.begin();
        for (long i = 0; i < replaced.size(); i++) {
            push_back(names.get(i).key().getString(), each.get());
            each.increment();
        }
    }

    /** Goes through this sequence's own native layers, which are where they were only until the next one is pushed. */
    @Override
    public Tensor forward(Tensor input) {
        Tensor x = input;
        AnyModuleVector.Iterator each = begin();
        for (long i = 0; i < size(); i++) {
            NormLayer step = steps.get(i);
            x = step != null ? step.forward(x) : each.get().forward(x);
            each.increment();
        }
        return x;
    }
}
