package io.hvd.spi;

import java.util.Locale;

/** What a request asks for; the order is part of the wire format. */
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

    private static final OpKind[] ALL = values();

    private final String word = name().toLowerCase(Locale.ROOT);

    public static OpKind of(int ordinal) {
        return ALL[ordinal];
    }

    /** True for the two halves of a transfer, which need two ranks and not all. */
    public boolean isTransfer() {
        return this == SEND || this == RECEIVE;
    }

    /** True if ranks combine their elements, so that a reduce operation and scale factors apply. */
    public boolean isReduction() {
        return this == ALLREDUCE || this == REDUCESCATTER || this == REDUCE;
    }

    @Override
    public String toString() {
        return word;
    }
}
