package io.hvd.trace;

/**
 * Receives from {@link FlightRecorder} the events of a rank as they happen. Any thread calls it, also the communication
 * thread, so it must neither wait nor throw. Times are those of {@link System#nanoTime()}.
 */
public interface TraceListener {
    /** A user's thread has called a collective. */
    void submitted(Call call);

    /**
     * The engine has taken the call from its queue.
     *
     * @param negotiated false where a static plan holds, so that the call only waits for the rest of its batch
     */
    void announced(Call call, boolean negotiated, long nanos);

    /** Rank 0 has heard that a rank, itself or another one, has asked for an operation. */
    void ready(Arrival arrival, long nanos);

    /**
     * The data plane begins a call.
     *
     * @param batch the call on whose behalf the {@link #activity activities} of its batch are reported
     */
    void started(Call call, Call batch, long nanos);

    /** A piece of the data plane's work on a batch is over, such as {@code MPI_ALLREDUCE}. */
    void activity(Call batch, String name, long fromNanos, long toNanos);

    /** A device has done a piece of work on a batch; told some time afterwards. */
    void onDevice(Call batch, OnDevice work);

    /** A call has ended; its time and error are set. */
    void ended(Call call);

    /** A user's thread has waited for a result. */
    void waited(int processSet, String name, long fromNanos, long toNanos);

    /** The engine turns to its queue again. */
    void cycle(long nanos);

    /** The user's program has finished a training step. */
    void step(long nanos);

    /**
     * A rank that has asked for an operation.
     *
     * @param kind such as {@code allreduce}
     * @param rank global
     */
    record Arrival(int processSet, String kind, String name, int rank) {}

    /**
     * A piece of work of a device.
     *
     * @param device such as {@code cuda:0}
     * @param name such as {@code NCCL_ALLREDUCE}
     */
    record OnDevice(String device, String name, long fromNanos, long toNanos) {}
}
