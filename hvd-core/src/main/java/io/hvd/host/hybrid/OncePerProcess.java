package io.hvd.host.hybrid;

import io.hvd.host.local.Rendezvous;
import java.util.function.Supplier;

/** Work that one thread does for all threads of its JVM: all get its result, or all throw its exception. */
final class OncePerProcess {
    private final Rendezvous meeting;
    private Object result;
    private RuntimeException failure;

    OncePerProcess(Rendezvous meeting) {
        this.meeting = meeting;
    }

    /**
     * Does the work; all threads call it.
     *
     * @param leads true on the thread that does the work, after all threads have come
     */
    @SuppressWarnings("unchecked") // all threads are in the same call
    <T> T run(boolean leads, Supplier<T> work) {
        meeting.meet();
        if (leads) {
            try {
                failure = null;
                result = work.get();
            } catch (RuntimeException e) {
                failure = e;
            }
        }
        meeting.meet();
        if (failure != null) {
            throw failure;
        }
        return (T) result;
    }
}
