package io.hvd.tensor;

/** Notes whether any code has asked for a tensor's elements, and makes a report when an unread tensor is garbage. */
final class ReadWatch implements Runnable {
    private final Runnable onNeverRead;
    /** Set by threads of the program, read by the cleaner's thread. */
    private volatile boolean read;

    ReadWatch(Runnable onNeverRead) {
        this.onNeverRead = onNeverRead;
    }

    void markRead() {
        read = true;
    }

    /** Called by the cleaner, once, when the tensor can no longer be reached. */
    @Override
    public void run() {
        if (!read) {
            onNeverRead.run();
        }
    }
}
