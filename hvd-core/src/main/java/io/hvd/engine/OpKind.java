package io.hvd.engine;

/** What a request asks for. */
public enum OpKind {
    ALLREDUCE,
    ALLGATHER,
    BROADCAST,
    BARRIER;

    private static final OpKind[] ALL = values();

    static OpKind of(int ordinal) {
        return ALL[ordinal];
    }

    @Override
    public String toString() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }
}
