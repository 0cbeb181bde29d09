package io.hvd.contract.program;

/** The operations that a program asks of a process set. */
public enum Kind {
    ALLREDUCE,
    GROUP_ALLREDUCE,
    ALLGATHER,
    GROUP_ALLGATHER,
    BROADCAST,
    ALLTOALL,
    REDUCESCATTER,
    GROUP_REDUCESCATTER,
    REDUCE,
    GATHER,
    SCATTER,
    /** A send on one rank, a receive on another. */
    TRANSFER,
    BARRIER,
    LIMITED_BARRIER,
    BROADCAST_OBJECT,
    ALLGATHER_OBJECT,
    JOIN,
    ADD_SET,
    REMOVE_SET;

    public boolean isGroup() {
        return this == GROUP_ALLREDUCE || this == GROUP_ALLGATHER || this == GROUP_REDUCESCATTER;
    }

    public boolean scatters() {
        return this == REDUCESCATTER || this == GROUP_REDUCESCATTER;
    }

    boolean reduces() {
        return this == ALLREDUCE || this == GROUP_ALLREDUCE || this == REDUCE || scatters();
    }

    /** Whether the ranks' tensors may have other numbers of rows. */
    public boolean gathers() {
        return this == ALLGATHER || this == GROUP_ALLGATHER || this == GATHER;
    }

    boolean isRooted() {
        return this == BROADCAST || this == REDUCE || this == GATHER || this == SCATTER || this == BROADCAST_OBJECT;
    }

    /** Whether a program may go on before it is done. */
    boolean mayBeAsynchronous() {
        return ordinal() <= BARRIER.ordinal();
    }

    /** Whether others may go on with it beside ranks that have joined. */
    boolean doesWithoutJoined() {
        return this == ALLREDUCE || this == GROUP_ALLREDUCE || this == BARRIER || this == LIMITED_BARRIER;
    }

    /** Whether every member must get the same bits. */
    public boolean givesAllTheSame() {
        return this == ALLREDUCE
                || this == GROUP_ALLREDUCE
                || this == ALLGATHER
                || this == GROUP_ALLGATHER
                || this == BROADCAST;
    }
}
