package io.hvd.job;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What has gone wrong on the ranks of a spawn, in the order of time. */
final class SpawnFailures {
    private final List<Failure> failures = Collections.synchronizedList(new ArrayList<>());
    private volatile boolean hung;

    private record Failure(String who, Throwable cause) {}

    /** @param who such as "rank 2" */
    void add(String who, Throwable cause) {
        failures.add(new Failure(who, cause));
    }

    /** A hang has been reported: threads that do not come back need not be waited for. */
    void addHang(String who, Throwable cause) {
        add(who, cause);
        hung = true;
    }

    boolean hung() {
        return hung;
    }

    boolean isEmpty() {
        return failures.isEmpty();
    }

    /** The first failure in time that is not the consequence of another one, with all others. */
    HvdException first() {
        List<Failure> all = List.copyOf(failures);
        Failure first = all.stream()
                .filter(failure -> !(failure.cause instanceof ShutdownException))
                .findFirst()
                .orElse(all.get(0));
        HvdException thrown = new HvdException(
                ErrorId.SHUT_DOWN, first.who + " failed: " + Excerpt.summary(first.cause), first.cause);
        all.stream().filter(other -> other != first).forEach(other -> thrown.addSuppressed(other.cause));
        return thrown;
    }
}
