package io.hvd.examples.text;

import static org.bytedeco.pytorch.global.torch.gelu;
import static org.bytedeco.pytorch.global.torch.scaled_dot_product_attention;

import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.LayerNormImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;

/** A block of a decoder: causal attention and two dense layers with a GELU between them, each added to its input. */
final class DecoderBlock extends Module {
    /** The inner dense layer is wider than the block, as in the paper. */
    private static final int WIDENING = 4;

    private static final int TRIPLE = 3;

    private final int heads;
    private final LayerNormImpl norm1;
    private final LinearImpl queriesKeysValues;
    private final LinearImpl attended;
    private final LayerNormImpl norm2;
    private final LinearImpl wide;
    private final LinearImpl narrow;

    DecoderBlock(int hidden, int heads) {
        this.heads = heads;
        norm1 = register_module("norm1", new LayerNormImpl(new LongVector(new long[] {hidden})));
        queriesKeysValues = register_module("qkv", new LinearImpl(hidden, (long) TRIPLE * hidden));
        attended = register_module("attended", new LinearImpl(hidden, hidden));
        norm2 = register_module("norm2", new LayerNormImpl(new LongVector(new long[] {hidden})));
        wide = register_module("wide", new LinearImpl(hidden, (long) WIDENING * hidden));
        narrow = register_module("narrow", new LinearImpl((long) WIDENING * hidden, hidden));
    }

    /** @param x (batch, width, hidden) @return the same shape */
    Tensor forward(Tensor x) {
        Tensor y = x.add(attention(norm1.forward(x)));
        return y.add(narrow.forward(gelu(wide.forward(norm2.forward(y)))));
    }

    /** Lets each character look at those before it and at itself. */
    private Tensor attention(Tensor x) {
        long batch = x.size(0);
        long width = x.size(1);
        long hidden = x.size(2);
        // (3, batch, heads, width, hidden / heads)
        Tensor all = queriesKeysValues
                .forward(x)
                .reshape(batch, width, TRIPLE, heads, hidden / heads)
                .permute(2, 0, 3, 1, 4);
        Tensor found = scaled_dot_product_attention(
                all.select(0, 0),
                all.select(0, 1),
                all.select(0, 2),
                new TensorOptional(),
                0,
                true,
                new DoubleOptional(),
                false);
        return attended.forward(found.transpose(1, 2).reshape(batch, width, hidden));
    }
}
