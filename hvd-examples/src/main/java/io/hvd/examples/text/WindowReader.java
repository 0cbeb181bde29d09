package io.hvd.examples.text;

import io.hvd.examples.training.TorchDevice;
import java.util.ArrayDeque;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/** Keeps the last characters, which a model without a state reads anew each time. */
final class WindowReader implements CharReader {
    private final CharModel model;
    private final int width;
    private final TorchDevice device;
    private final ArrayDeque<Long> last = new ArrayDeque<>();

    /** @param width characters that the model can look at */
    WindowReader(CharModel model, int width, TorchDevice device) {
        this.model = model;
        this.width = width;
        this.device = device;
    }

    @Override
    public float[] scoresAfter(int character) {
        if (last.size() == width) {
            last.removeFirst();
        }
        last.addLast((long) character);
        long[] characters = last.stream().mapToLong(Long::longValue).toArray();
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Tensor all = model.forward(device.onto(Tensor.create(characters, 1, characters.length)));
            Tensor afterLast = all.select(0, characters.length - 1L).cpu().contiguous();
            float[] scores = new float[Math.toIntExact(afterLast.numel())];
            afterLast.data_ptr_float().get(scores);
            return scores;
        }
    }

    @Override
    public void close() {
        last.clear();
    }
}
