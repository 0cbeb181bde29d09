package io.hvd.transformers;

import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * What LoRA adds to a dense layer: a product of two narrow matrices, scale * x A<sup>T</sup> B<sup>T</sup>.
 *
 * @param a (rank, inputs)
 * @param b (outputs, rank)
 */
record Adapter(Tensor a, Tensor b, double scale, Dropout dropout) {
    Tensor apply(Tensor x) {
        return torch.linear(torch.linear(dropout.apply(x), a), b).mul(new Scalar(scale));
    }

    /** What a merge adds to the layer's weight. @return (outputs, inputs) */
    Tensor product() {
        return b.detach().matmul(a.detach()).mul(new Scalar(scale));
    }
}
