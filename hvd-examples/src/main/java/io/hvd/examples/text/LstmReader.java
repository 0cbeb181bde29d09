package io.hvd.examples.text;

import io.hvd.examples.training.TorchDevice;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.Tensor;

/** Keeps the state of an LSTM, which remembers all characters so far. */
final class LstmReader implements CharReader {
    private final CharLstm model;
    private final TorchDevice device;
    private T_TensorTensor_T state;

    LstmReader(CharLstm model, TorchDevice device) {
        this.model = model;
        this.device = device;
    }

    @Override
    public float[] scoresAfter(int character) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            CharLstm.Read read = model.read(device.onto(Tensor.create(new long[] {character}, 1, 1)), state);
            // A pair of our own, since the model's belongs to what it has returned and ends with the scope. One
            // reference more lets it outlive the scope; detaching it from the scope would free it.
            T_TensorTensor_T next =
                    new T_TensorTensor_T(read.state().get0(), read.state().get1()).retainReference();
            close();
            state = next;
            float[] scores = new float[Math.toIntExact(read.scores().size(1))];
            read.scores().cpu().contiguous().data_ptr_float().get(scores);
            return scores;
        }
    }

    @Override
    public void close() {
        if (state != null) {
            state.close();
            state = null;
        }
    }
}
