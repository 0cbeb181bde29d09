package io.hvd.transformers;

import java.util.Optional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;

/** A dense layer of a transformer, y = x W<sup>T</sup> + b, with what an adapter adds to it. */
final class Projection {
    private final String module;
    private final Tensor weight;
    /** Null without one. */
    private final Tensor bias;
    /** Null without one. */
    private Adapter adapter;

    /**
     * @param module its name
     * @param weight (outputs, inputs)
     * @param bias null for none
     */
    Projection(String module, Tensor weight, Tensor bias) {
        this.module = module;
        this.weight = weight;
        this.bias = bias;
    }

    /** @param x (..., inputs) @return (..., outputs) */
    Tensor apply(Tensor x) {
        Tensor y = bias == null ? torch.linear(x, weight) : torch.linear(x, weight, new TensorOptional(bias));
        return adapter == null ? y : y.add(adapter.apply(x));
    }

    String module() {
        return module;
    }

    Tensor weight() {
        return weight;
    }

    Optional<Adapter> adapter() {
        return Optional.ofNullable(adapter);
    }

    void adapter(Adapter adapted) {
        this.adapter = adapted;
    }
}
