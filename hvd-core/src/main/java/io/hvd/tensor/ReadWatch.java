package io.hvd.tensor;

/** Records whether a tensor's elements have been read, and reports a tensor that becomes garbage unread. */
final class ReadWatch implements Runnable {
    private final Runnable onNeverRead;
    /** Set by threads of the program, read by the thread that reports. */
    private volatile boolean read;

    ReadWatch(Runnable onNeverRead) {
        this.onNeverRead = onNeverRead;
    }

    void markRead() {
        read = true;
    }

    /** Called at most once, when the tensor can no longer be reached. */
    @Override
    public void run() {
        if (!read) {
            onNeverRead.run();
        }
    }
}
