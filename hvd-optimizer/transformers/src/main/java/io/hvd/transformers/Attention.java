package io.hvd.transformers;

import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;

/** Scaled dot-product attention of several heads (A. Vaswani et al., "Attention Is All You Need", 2017). */
final class Attention {
    private Attention() {}

    /** @param x (batch, length, heads * size) @return (batch, heads, length, size) */
    static Tensor split(Tensor x, int heads) {
        return x.reshape(x.size(0), x.size(1), heads, x.size(2) / heads).transpose(1, 2);
    }

    /** The opposite. */
    static Tensor joined(Tensor x) {
        return x.transpose(1, 2).reshape(x.size(0), x.size(2), x.size(1) * x.size(3));
    }

    /** Each token looks at all tokens. @param seen (batch, 1, 1, length), true for tokens that are not padding */
    static Tensor toAll(Tensor queries, Tensor keys, Tensor values, Tensor seen) {
        return torch.scaled_dot_product_attention(
                queries, keys, values, new TensorOptional(seen), 0, false, new DoubleOptional(), false);
    }

    /** Each token looks at itself and those before it, never at padding, which is behind all of them. */
    static Tensor toEarlier(Tensor queries, Tensor keys, Tensor values) {
        return torch.scaled_dot_product_attention(
                queries, keys, values, new TensorOptional(), 0, true, new DoubleOptional(), false);
    }
}
