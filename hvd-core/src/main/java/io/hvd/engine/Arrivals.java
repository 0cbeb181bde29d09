package io.hvd.engine;

/** Hears on rank 0 which rank has asked for what; called on the communication thread. */
interface Arrivals {
    /** @param rank global */
    void ready(int set, Request request, int rank);
}
