package io.hvd.engine.coordination;

import io.hvd.engine.message.Request;

/** Hears on rank 0 which rank has asked for what; called on the communication thread. */
public interface Arrivals {
    /** @param rank global */
    void ready(int set, Request request, int rank);
}
