package io.hvd.elastic;

/** Threads that keep no process alive. */
final class Daemon {
    private Daemon() {}

    /** Starts one. */
    static void start(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }
}
