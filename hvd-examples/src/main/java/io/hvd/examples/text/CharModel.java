package io.hvd.examples.text;

import static org.bytedeco.pytorch.global.torch.log_softmax;

import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.LSTMImpl;
import org.bytedeco.pytorch.LSTMOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.T_TensorT_TensorTensor_T_T;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.Tensor;

/** A language model of characters: an embedding, LSTM layers, and a dense layer for the next character's probabilities. */
final class CharModel extends Module {
    private final int letters;
    private final EmbeddingImpl embedding;
    private final LSTMImpl lstm;
    private final LinearImpl dense;

    /** @param letters number of different characters */
    CharModel(int letters, int hidden, int layers) {
        this.letters = letters;
        this.embedding = register_module("embedding", new EmbeddingImpl(letters, Math.min(letters, hidden)));
        LSTMOptions options = new LSTMOptions(Math.min(letters, hidden), hidden);
        options.num_layers().put(layers);
        options.batch_first().put(true);
        this.lstm = register_module("lstm", new LSTMImpl(options));
        this.dense = register_module("dense", new LinearImpl(hidden, letters));
    }

    /**
     * @param characters (batch, width)
     * @return log-probabilities of the next characters (batch * width, letters)
     */
    Tensor forward(Tensor characters) {
        return scores(lstm.forward(embedding.forward(characters)).get0());
    }

    /** Reads some characters after those that have led to a state; null for none. */
    Read read(Tensor characters, T_TensorTensor_T state) {
        if (state != null && state.isNull()) {
            throw new IllegalArgumentException("the state is closed, and LSTM would take that for none");
        }
        Tensor embedded = embedding.forward(characters);
        T_TensorT_TensorTensor_T_T out = state == null ? lstm.forward(embedded) : lstm.forward(embedded, state);
        return new Read(scores(out.get0()), out.get1());
    }

    /** Log-probabilities of what follows each character, and the state after the last one. */
    record Read(Tensor scores, T_TensorTensor_T state) {}

    private Tensor scores(Tensor hidden) {
        return log_softmax(dense.forward(hidden).reshape(-1, letters), 1);
    }
}
