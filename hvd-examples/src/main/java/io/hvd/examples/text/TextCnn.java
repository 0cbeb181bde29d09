package io.hvd.examples.text;

import static org.bytedeco.pytorch.global.torch.cat;
import static org.bytedeco.pytorch.global.torch.log_softmax;
import static org.bytedeco.pytorch.global.torch.relu;

import io.hvd.examples.training.SeededModule;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Conv1dImpl;
import org.bytedeco.pytorch.Conv1dOptions;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.EmbeddingOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * A classifier of sentences: an embedding of words, convolutions over three, four and five neighbouring words with a hundred
 * channels each, the largest value of each channel in the sentence, dropout, and a dense layer.
 *
 * <p>Y. Kim, "Convolutional Neural Networks for Sentence Classification", EMNLP 2014.
 */
final class TextCnn extends SeededModule {
    private static final List<Integer> KERNELS = List.of(3, 4, 5);
    /** The longest kernel needs as many words. */
    static final int SHORTEST_SENTENCE = 5;

    private static final int CHANNELS = 100;
    private static final double DROPOUT = 0.5;

    private final EmbeddingImpl embedding;
    private final Layers layers;

    /** @param sparse whether the embedding's gradients are rows */
    TextCnn(int words, int dimensions, int classes, boolean sparse) {
        EmbeddingOptions options = new EmbeddingOptions(words, dimensions);
        options.padding_idx().put(0L);
        options.sparse().put(sparse);
        embedding = register_module("embedding", new EmbeddingImpl(options));
        layers = register_module("layers", new Layers(dimensions, classes));
    }

    /** The layers behind the embedding. */
    private static final class Layers extends Module {
        private final List<Conv1dImpl> convolutions = new ArrayList<>();
        private final LinearImpl dense;

        Layers(int dimensions, int classes) {
            for (int kernel : KERNELS) {
                Conv1dOptions options = new Conv1dOptions(dimensions, CHANNELS, new LongPointer(1).put(kernel));
                convolutions.add(register_module("conv" + kernel, new Conv1dImpl(options)));
            }
            dense = register_module("dense", new LinearImpl((long) CHANNELS * KERNELS.size(), classes));
        }

        /** @param embedded (batch, dimensions, words) @return (batch, channels of all convolutions) */
        Tensor largest(Tensor embedded) {
            TensorVector largest = new TensorVector();
            for (Conv1dImpl convolution : convolutions) {
                largest.push_back(relu(convolution.forward(embedded)).amax(new long[] {2}, false));
            }
            return cat(largest, 1);
        }
    }

    /**
     * @param words (batch, words), their numbers, at least five of them in a sentence
     * @return logarithms of probabilities, (batch, classes)
     */
    Tensor forward(Tensor words) {
        Tensor embedded = embedding.forward(words).transpose(1, 2);
        return log_softmax(layers.dense.forward(dropout(layers.largest(embedded), DROPOUT)), 1);
    }

    Module embedding() {
        return embedding;
    }

    /** All modules but the embedding. */
    Module layers() {
        return layers;
    }

    /** Replaces the vectors of the words that there are some for. @return how many these are */
    int load(WordVectors vectors, List<String> words) {
        int found = 0;
        for (int word = 0; word < words.size(); word++) {
            float[] vector = vectors.vectors().get(words.get(word));
            if (vector != null) {
                Tensor row = embedding.weight().detach().select(0, word);
                row.copy_(Tensor.create(vector, vector.length));
                found++;
            }
        }
        return found;
    }
}
