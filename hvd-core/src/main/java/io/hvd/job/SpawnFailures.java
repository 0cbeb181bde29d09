package io.hvd.job;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.job.failure.Excerpt;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The failures of the ranks of a spawn, in the order of time. */
final class SpawnFailures {
    private final List<Failure> failures = Collections.synchronizedList(new ArrayList<>());
    private volatile boolean over;

    private record Failure(String words, Throwable cause) {}

    /** @param who such as "rank 2" */
    void add(String who, Throwable cause) {
        failures.add(new Failure(who + " failed: " + Excerpt.summary(cause), cause));
    }

    /** A hang has been reported. */
    void addHang(String who, Throwable cause) {
        add(who, cause);
        over = true;
    }

    /** The caller of spawn no longer wants the job. */
    void addCancellation(String why) {
        failures.add(new Failure(why, new InterruptedException(why)));
        over = true;
    }

    /** Whether threads that do not come back need not be waited for. */
    boolean isOver() {
        return over;
    }

    boolean isEmpty() {
        return failures.isEmpty();
    }

    /**
     * The first failure in time that is not the consequence of another one, with all others.
     *
     * @param left what is said about threads that have been left behind, or empty
     */
    HvdException first(String left) {
        List<Failure> all = List.copyOf(failures);
        Failure first = all.stream()
                .filter(failure -> !(failure.cause instanceof ShutdownException))
                .findFirst()
                .orElse(all.get(0));
        HvdException thrown = new HvdException(ErrorId.SHUT_DOWN, first.words + left, first.cause);
        all.stream().filter(other -> other != first).forEach(other -> thrown.addSuppressed(other.cause));
        return thrown;
    }
}
