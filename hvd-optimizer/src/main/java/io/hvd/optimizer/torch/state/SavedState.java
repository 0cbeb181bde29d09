package io.hvd.optimizer.torch.state;

/** What an optimizer remembers, as bytes: without float32 copies of the parameters ({@link TorchState}) or with them ({@link MasterState}). */
public interface SavedState {
    byte[] save();

    /** @throws io.hvd.error.HvdException if it is another optimizer's */
    void load(byte[] state);

    /** The optimizer has made a step. */
    void stepped();
}
