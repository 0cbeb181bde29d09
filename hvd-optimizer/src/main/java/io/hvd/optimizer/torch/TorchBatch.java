package io.hvd.optimizer.torch;

import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * A batch of a {@link TorchLoader}, which closes it when it is asked for the next one.
 *
 * @param size number of samples
 * @param fields one tensor for each field of the layout, of shape (size, ...), on the loader's device
 */
public record TorchBatch(int size, List<Tensor> fields) implements AutoCloseable {
    /** Gives the tensors up; work that is queued on them goes on. */
    @Override
    public void close() {
        fields.forEach(Tensor::close);
    }
}
