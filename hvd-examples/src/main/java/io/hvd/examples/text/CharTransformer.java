package io.hvd.examples.text;

import io.hvd.examples.training.TorchDevice;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.LayerNormImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * A language model of characters as a decoder alone: embeddings of the characters and of their places, both learned, blocks
 * of causal attention, a layer norm, and a dense layer for the next character's probabilities.
 *
 * <p>A. Vaswani et al., "Attention Is All You Need", NeurIPS 2017; the norms stand before the layers, as in A. Radford et al.,
 * "Language Models are Unsupervised Multitask Learners", 2019, which has the deviation of the embeddings too.
 */
final class CharTransformer extends CharModel {
    private static final double EMBEDDING_DEVIATION = 0.02;

    private final int width;
    private final EmbeddingImpl embedding;
    private final EmbeddingImpl places;
    private final List<DecoderBlock> blocks = new ArrayList<>();
    private final LayerNormImpl norm;
    private final LinearImpl dense;

    /**
     * @param letters number of different characters
     * @param width the largest number of characters that the model can look at
     * @param hidden numbers that stand for a character; a multiple of the heads
     */
    CharTransformer(int letters, int width, int hidden, int layers, int heads) {
        this.width = width;
        this.embedding = register_module("embedding", embedding(letters, hidden));
        this.places = register_module("places", embedding(width, hidden));
        for (int layer = 0; layer < layers; layer++) {
            blocks.add(register_module("block" + (layer + 1), new DecoderBlock(hidden, heads)));
        }
        this.norm = register_module("norm", new LayerNormImpl(new LongVector(new long[] {hidden})));
        this.dense = register_module("dense", new LinearImpl(hidden, letters));
    }

    private static EmbeddingImpl embedding(int count, int hidden) {
        EmbeddingImpl embedding = new EmbeddingImpl(count, hidden);
        try (NoGradGuard guard = new NoGradGuard()) {
            embedding.weight().normal_(0, EMBEDDING_DEVIATION, new GeneratorOptional());
        }
        return embedding;
    }

    @Override
    Tensor forward(Tensor characters) {
        Tensor x = embedding.forward(characters).add(places.weight().narrow(0, 0, characters.size(1)));
        for (DecoderBlock block : blocks) {
            x = block.forward(x);
        }
        return logarithms(dense.forward(norm.forward(x)));
    }

    @Override
    CharReader reader(TorchDevice device) {
        return new WindowReader(this, width, device);
    }
}
