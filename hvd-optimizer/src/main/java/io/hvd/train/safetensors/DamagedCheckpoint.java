package io.hvd.train.safetensors;

/** Says how a file differs from a checkpoint; the caller that knows the file's name adds it. */
final class DamagedCheckpoint extends Exception {
    private static final long serialVersionUID = 1L;

    DamagedCheckpoint(String how) {
        super(how);
    }
}
