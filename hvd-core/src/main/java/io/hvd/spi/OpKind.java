package io.hvd.spi;

import java.util.Locale;

/** The kind of operation that a request asks for. */
public enum OpKind {
    ALLREDUCE,
    ALLGATHER,
    BROADCAST,
    ALLTOALL,
    REDUCESCATTER,
    REDUCE,
    GATHER,
    SCATTER,
    /** One half of a transfer between two ranks; the other half is {@link #RECEIVE}. */
    SEND,
    RECEIVE,
    BARRIER,
    JOIN,
    ADD_PROCESS_SET,
    REMOVE_PROCESS_SET;

    private final String word = name().toLowerCase(Locale.ROOT);

    @Override
    public String toString() {
        return word;
    }
}
