package io.hvd.engine.coordination;

import io.hvd.engine.message.Request;

/** Receives on rank 0 every request of every rank; called on the communication thread. */
public interface Arrivals {
    /** @param rank global */
    void ready(int set, Request request, int rank);
}
