package io.hvd.examples.text;

import io.hvd.examples.training.TorchDevice;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.LSTMImpl;
import org.bytedeco.pytorch.LSTMOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.T_TensorT_TensorTensor_T_T;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.Tensor;

/** A language model of characters: an embedding, LSTM layers, and a dense layer for the next character's probabilities. */
final class CharLstm extends CharModel {
    private final EmbeddingImpl embedding;
    private final LSTMImpl lstm;
    private final LinearImpl dense;

    /** @param letters number of different characters */
    CharLstm(int letters, int hidden, int layers) {
        this.embedding = register_module("embedding", new EmbeddingImpl(letters, Math.min(letters, hidden)));
        LSTMOptions options = new LSTMOptions(Math.min(letters, hidden), hidden);
        options.num_layers().put(layers);
        options.batch_first().put(true);
        this.lstm = register_module("lstm", new LSTMImpl(options));
        this.dense = register_module("dense", new LinearImpl(hidden, letters));
    }

    @Override
    Tensor forward(Tensor characters) {
        return logarithms(
                dense.forward(lstm.forward(embedding.forward(characters)).get0()));
    }

    @Override
    CharReader reader(TorchDevice device) {
        return new LstmReader(this, device);
    }

    /** Reads some characters after those that have led to a state; null for none. */
    Read read(Tensor characters, T_TensorTensor_T state) {
        if (state != null && state.isNull()) {
            throw new IllegalArgumentException("the state is closed, and LSTM would take that for none");
        }
        Tensor embedded = embedding.forward(characters);
        T_TensorT_TensorTensor_T_T out = state == null ? lstm.forward(embedded) : lstm.forward(embedded, state);
        return new Read(logarithms(dense.forward(out.get0())), out.get1());
    }

    /** Log-probabilities of what follows each character, and the state after the last one. */
    record Read(Tensor scores, T_TensorTensor_T state) {}
}
