package io.hvd.benchmarks.cost;

/** The two forms of each algorithm, by size. */
enum Form {
    /** As few messages as possible, each with all data. */
    FEW_BYTES,
    /** As few bytes as possible, in more messages. */
    MANY_BYTES
}
