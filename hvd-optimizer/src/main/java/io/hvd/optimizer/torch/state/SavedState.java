package io.hvd.optimizer.torch.state;

import io.hvd.optimizer.NamedState;

/** The memory of an optimizer as bytes: without float32 copies of the parameters ({@link TorchState}) or with them ({@link MasterState}). */
public interface SavedState {
    byte[] save();

    /** @throws io.hvd.error.HvdException if it is another optimizer's */
    void load(byte[] state);

    /** The memory as named tensors. */
    NamedState named();

    /** @throws io.hvd.error.HvdException if it is another optimizer's; then nothing is changed */
    void load(NamedState state);

    /** Bytes of {@link #named} behind the first steps. */
    long fullBytes();

    /** The optimizer has made a step. */
    void stepped();
}
