package io.hvd.data;

import java.util.List;

/** The loaders' threads in this process, as a test sees them. */
final class WorkerThreads {

    private WorkerThreads() {}

    static List<Thread> alive() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("hvd-loader-"))
                .filter(Thread::isAlive)
                .toList();
    }
}
