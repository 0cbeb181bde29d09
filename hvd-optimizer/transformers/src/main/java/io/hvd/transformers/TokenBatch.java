package io.hvd.transformers;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Texts of one batch, padded to the longest of them.
 *
 * @param ids tokens, row by row; 0 behind a text's end
 * @param mask 1 for tokens and 0 for padding
 * @param rows number of texts
 * @param length tokens of the longest text
 */
public record TokenBatch(long[] ids, long[] mask, int rows, int length) {
    /** @throws HvdException if there is no text */
    public static TokenBatch of(List<long[]> texts) {
        if (texts.isEmpty()) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "a TokenBatch of no texts, expected at least one");
        }
        int length =
                Math.max(1, texts.stream().mapToInt(text -> text.length).max().orElse(0));
        long[] ids = new long[texts.size() * length];
        long[] mask = new long[ids.length];
        for (int row = 0; row < texts.size(); row++) {
            long[] text = texts.get(row);
            System.arraycopy(text, 0, ids, row * length, text.length);
            Arrays.fill(mask, row * length, row * length + text.length, 1);
        }
        return new TokenBatch(ids, mask, texts.size(), length);
    }

    /** How many tokens are not padding. */
    public long tokens() {
        return Arrays.stream(mask).sum();
    }

    /** The tokens, int64 of shape (rows, length). */
    public Tensor ids(Device device) {
        return tensor(ids, device);
    }

    /** The mask, int64 of the same shape. */
    public Tensor mask(Device device) {
        return tensor(mask, device);
    }

    private Tensor tensor(long[] values, Device device) {
        Tensor made = Tensor.create(values, rows, length);
        return device.is_cpu() ? made : made.to(device, ScalarType.Long);
    }
}
