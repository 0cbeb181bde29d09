package io.hvd.optimizer.torch.gradient;

import io.hvd.optimizer.torch.memory.TensorViews;
import java.nio.ByteBuffer;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/**
 * How the ranks learn, by the gradient itself, that no backward pass of any of them has reached a parameter: a rank that has not
 * reached it sends negative zeros. The sum of negative zeros is a negative zero, and any other number is what it was when one is added
 * to it. So the sum is a negative zero only if no rank has reached the parameter, and all ranks see the same sum.
 *
 * <p>In the host's memory a gradient that backward has computed never begins with a negative zero when it leaves; a small number may
 * still become one on its way, where gradients travel as 16-bit numbers. So all elements are looked at, if this rank has not reached the
 * parameter and, in the host's memory, if the first one is a negative zero.
 */
final class UnreachedMark {
    private static final byte SIGN = (byte) 0x80;

    private final Tensor slot;
    /** Bytes of the first element, the one with the sign the last; null on a GPU, and where there is none. */
    private final ByteBuffer first;

    UnreachedMark(Tensor slot) {
        this.slot = slot;
        this.first = slot.is_cuda() || slot.numel() == 0
                ? null
                : TensorViews.buffers(slot.data_ptr(), slot.element_size(), TensorViews.LONGEST_BUFFER)
                        .get(0);
    }

    void put() {
        slot.fill_(new Scalar(-0.0));
    }

    /** The slot has what backward has computed. */
    void avoid() {
        if (first != null && isFirst()) {
            first.put(first.limit() - 1, (byte) 0);
        }
    }

    /** Asked of what has come. */
    boolean isThere() {
        return (first == null ? slot.numel() > 0 : isFirst())
                && slot.signbit().logical_and(slot.eq(new Scalar(0.0))).all().item_bool();
    }

    private boolean isFirst() {
        int last = first.limit() - 1;
        for (int i = 0; i < last; i++) {
            if (first.get(i) != 0) {
                return false;
            }
        }
        return first.get(last) == SIGN;
    }
}
