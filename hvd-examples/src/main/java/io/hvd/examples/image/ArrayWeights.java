package io.hvd.examples.image;

import io.hvd.optimizer.ArrayParameters;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/** A LibTorch model's weights as arrays, for an optimizer that LibTorch does not have. The arrays are the ones that are stepped. */
final class ArrayWeights {
    private final List<Weight> weights = new ArrayList<>();
    private final ArrayParameters parameters = new ArrayParameters();

    private record Weight(Tensor tensor, float[] values, float[] gradient) {}

    ArrayWeights(Module model) {
        var named = model.named_parameters();
        for (long i = 0; i < named.size(); i++) {
            Tensor tensor = new Tensor(named.get(i).value()); // the dictionary's own ends with it
            float[] values = new float[Math.toIntExact(tensor.numel())];
            tensor.detach().cpu().contiguous().data_ptr_float().get(values);
            Weight weight = new Weight(tensor, values, new float[values.length]);
            weights.add(weight);
            parameters.add(named.get(i).key().getString(), values, weight.gradient);
        }
    }

    ArrayParameters parameters() {
        return parameters;
    }

    /** Before the model computes. */
    void toModel() {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            for (Weight weight : weights) {
                weight.tensor.copy_(Tensor.create(weight.values).view_as(weight.tensor));
                if (weight.tensor.grad().defined()) {
                    weight.tensor.grad().zero_();
                }
            }
        }
    }

    /** After backward. */
    void takeGradients() {
        try (PointerScope scope = new PointerScope()) {
            for (Weight weight : weights) {
                weight.tensor.grad().cpu().contiguous().data_ptr_float().get(weight.gradient);
            }
        }
    }
}
