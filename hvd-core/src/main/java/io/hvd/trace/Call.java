package io.hvd.trace;

import java.util.List;

/**
 * One collective as this rank has called it, and its progress so far. The times are those of {@link System#nanoTime()},
 * and 0 until they are known.
 *
 * <p>A prepared collective uses the same object for all its calls, one after the other, so that a call makes no
 * garbage. {@link FlightRecorder#pending()} and {@link FlightRecorder#recent()} therefore return copies, which do not
 * change.
 *
 * <p>All fields are written under the recorder's lock. Whoever reads them elsewhere has got the call from the thread
 * that wrote them, by the engine's queue, or is that thread. With volatile fields, submitting 400 tensors took half as
 * long again, and twice as long where they were prepared.
 */
public final class Call {
    private long number;
    private Operation operation;
    private String site;
    private Thread caller;
    private long submittedNanos;
    private long startedNanos;
    private long endedNanos;
    private String error = "";

    /** The neighbours in the recorder's list of calls that are pending. */
    Call previous;

    Call next;

    /** Its event while a recording of JDK Flight Recorder is under way, else null; of one thread after the other. */
    CollectiveEvent event;

    /** Begins a call; under the recorder's lock. */
    void begin(long itsNumber, Operation called, String calledAt, Thread by, long nanos) {
        number = itsNumber;
        operation = called;
        site = calledAt;
        caller = by;
        submittedNanos = nanos;
        startedNanos = 0;
        endedNanos = 0;
        error = "";
    }

    /** Copies the other call's fields; under the recorder's lock. */
    void copy(Call other) {
        begin(other.number, other.operation, other.site, other.caller, other.submittedNanos);
        startedNanos = other.startedNanos;
        error = other.error;
        endedNanos = other.endedNanos;
    }

    /**
     * The operation that was called.
     *
     * @param kind such as {@code allreduce}
     * @param name the tensor's name
     * @param detail element type and shape, in words
     * @param processSet number of the process set, 0 for all ranks
     * @param members global ranks of the set
     */
    public record Operation(String kind, String name, String detail, int processSet, List<Integer> members) {}

    /** Counts this rank's calls, from 1. */
    public long number() {
        return number;
    }

    public Operation operation() {
        return operation;
    }

    /**
     * The line of the user's program that made the call, such as {@code Train.step(Train.java:42)}; or the line that
     * first asked for the same under this name.
     */
    public String site() {
        return site;
    }

    /** The thread that made the call. */
    public Thread caller() {
        return caller;
    }

    public long submittedNanos() {
        return submittedNanos;
    }

    /**
     * The time at which the data plane began the call knowing that all members had come: from here on this rank waits
     * inside MPI, NCCL or a meeting of threads, and not for another rank's program. It is 0 for a step of a static
     * plan, for which this is not known.
     */
    public long startedNanos() {
        return startedNanos;
    }

    public long endedNanos() {
        return endedNanos;
    }

    public boolean isPending() {
        return endedNanos == 0;
    }

    /** Why it failed, or empty. */
    public String error() {
        return error;
    }

    void start(long nanos) {
        startedNanos = nanos;
    }

    void end(long nanos, String why) {
        error = why;
        endedNanos = nanos;
    }
}
