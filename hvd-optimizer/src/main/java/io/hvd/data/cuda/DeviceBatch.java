package io.hvd.data.cuda;

import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * A batch on its way to the GPU, or there already: work on the loader's stream finds it complete. It lasts until the
 * loader is asked for the next one.
 *
 * @param size number of samples
 * @param fields one tensor for each field of the layout, of shape (size, ...)
 */
public record DeviceBatch(int size, List<Tensor> fields) {}
